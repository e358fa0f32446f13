"""`python manage.py export_ratings --study SLUG --out FILE`: a study's ratings as one long file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.annotation.rating_export import FORMATS, UnknownFormatError, write_export
from apps.annotation.services.exporting import exported_ratings
from apps.corpus.parsing.mapping import listed
from apps.studies.models import Study


class Command(BaseCommand):
    help = "Export a study's ratings: one row for each, under the raters' pseudonyms. import_ratings can read the file."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--block", default="", metavar="SLUG", help="default: every block")
        parser.add_argument("--out", required=True, type=Path, metavar="FILE", help=f"ends in {', '.join(FORMATS)}")

    def handle(self, *args: Any, **options: Any) -> None:
        study = self._study(options["study"], options["block"])
        out: Path = options["out"]
        try:
            rows = write_export(exported_ratings(study=study, block=options["block"]), out)
        except UnknownFormatError as error:
            raise CommandError(f"{str(error).rstrip('.')}. Nothing was written.") from None
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}.") from None
        self.stdout.write(f"{out}: {rows} ratings.")

    @staticmethod
    def _study(slug: str, block: str) -> Study:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise CommandError(f"There is no study {slug}.")
        blocks = list(study.blocks.values_list("slug", flat=True))
        if block and block not in blocks:
            raise CommandError(f"The study {slug} has no block {block}. Its blocks are: {listed(blocks)}.")
        return study
