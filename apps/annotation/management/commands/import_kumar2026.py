"""`python manage.py import_kumar2026 DIR`: the public data of Kumar et al. 2026 as a study."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from apps.accounts.command_options import person_named
from apps.annotation.kumar2026 import read_study
from apps.annotation.kumar2026_folder import KumarError
from apps.annotation.models import Evidence
from apps.annotation.services.kumar2026 import KumarConflict, import_kumar_study
from apps.annotation.services.recording import InvalidRating


class Command(BaseCommand):
    help = (
        "Import the public replication folder of Kumar et al. 2026 as one study: four blocks with experts, models, "
        "crowd means and self-reports, and a fifth with the single crowd annotators. All or nothing; may be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="holds annotations/ and original_data/")
        parser.add_argument("--study", default="kumar-2026", metavar="SLUG")
        parser.add_argument("--owner", metavar="EMAIL", help="default: admins only see the study")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["study"]
        try:
            validate_slug(slug)
            data = read_study(options["folder"])
            done = import_kumar_study(data=data, slug=slug, owner=person_named(options["owner"]))
        except ValidationError:
            raise CommandError(f"{slug} is no slug; use letters, digits and hyphens.") from None
        except (KumarError, KumarConflict, InvalidRating) as problem:
            raise CommandError(f"{str(problem).rstrip('.')}. Nothing was imported.") from None
        for note in data.notes:
            self.stdout.write(note)
        for block in data.blocks.values():
            count = sum(len(of_items) for values in block.raters.values() for of_items in values.values())
            self.stdout.write(f"{block.slug}: {len(block.ids)} items, {len(block.raters)} raters, {count} ratings")
        passages = Evidence.objects.filter(rating__rater__study=done.study)
        self.stdout.write(
            f"Evidence: {passages.count()} passages, {passages.filter(turn=None).count()} without a place"
        )
        self.stdout.write(
            f"{slug}: {done.conversations} conversations added; {done.tally.created} ratings added, "
            f"{done.tally.changed} changed, {done.tally.unchanged} as they were."
        )
