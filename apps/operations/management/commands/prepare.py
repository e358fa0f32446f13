"""Everything a start needs, in one process: tables, built-in frameworks, static files and, where asked, the demo."""

from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from apps.operations.services.static_files import collect_static_if_changed


class Command(BaseCommand):
    help = "Migrate, load the built-in frameworks and gather static files; safe to run again, and quick then."

    def add_arguments(self, parser: ArgumentParser) -> None:
        demo = parser.add_mutually_exclusive_group()
        demo.add_argument("--demo", action="store_true", help="load the demo study and open its logins")
        demo.add_argument("--close-demo-logins", action="store_true", help="deactivate the demo logins")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        call_command("load_frameworks", verbosity=0, stdout=self.stdout)
        if options["demo"]:
            call_command("seed_demo", stdout=self.stdout)
        if options["close_demo_logins"]:
            call_command("seed_demo", "--close-logins", stdout=self.stdout)
        collect_static_if_changed()
