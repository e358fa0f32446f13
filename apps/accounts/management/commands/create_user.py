"""`create_user EMAIL --role ROLE --password-stdin`: a login, made at the machine itself."""

import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Role
from apps.accounts.services.users import register_user


class Command(BaseCommand):
    help = "Create a login. The password is the first line of standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--role", default="", help=" | ".join(Role.values))
        parser.add_argument("--name", default="")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["role"] not in Role.values:
            raise CommandError(f"--role must be one of {', '.join(Role.values)}.")
        if not options["password_stdin"]:
            raise CommandError("Give the password on standard input and say --password-stdin.")
        password = sys.stdin.readline().rstrip("\r\n")
        if not password:
            raise CommandError("The password on standard input is empty.")
        try:
            user = register_user(email=options["email"], password=password, role=options["role"], name=options["name"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"Created {user.email} ({user.get_role_display()}).")
