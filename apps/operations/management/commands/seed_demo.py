"""The demo study and its logins."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import Role
from apps.frameworks.models import Framework
from apps.operations.services.demo import (
    FRAMEWORKS,
    close_demo_logins,
    logins_file,
    open_demo_logins,
    open_demo_to_expert,
    seed_demo,
)


class Command(BaseCommand):
    help = "Load the demo study: conversations written for Accord, with simulated ratings that are labelled so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--close-logins", action="store_true", help="shut the demo's logins, nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["close_logins"]:
            self.stdout.write(f"Closed {close_demo_logins()} demo logins.")
            return
        if Framework.objects.filter(slug__in=FRAMEWORKS).values("slug").distinct().count() < len(FRAMEWORKS):
            raise CommandError("The built-in frameworks are not loaded: run load_frameworks first.")
        people = open_demo_logins()
        study = seed_demo(people=people)
        open_demo_to_expert(expert=people[Role.ANNOTATOR])
        said = f"Made the demo study {study.slug}." if study else "The demo study is there."
        self.stdout.write(f"{said} Its logins are in {logins_file()}.")
