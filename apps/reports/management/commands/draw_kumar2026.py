"""`python manage.py draw_kumar2026 DIR --out docs`: the published figures beside those of the imported study."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.annotation.kumar2026 import read_study
from apps.annotation.kumar2026_folder import KumarError
from apps.measures.pairs import Convention
from apps.reliability.kumar2026_check import published_pairs
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import NothingRatedError, take_snapshot
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.render import svg_of
from apps.reports.kumar2026_page import Here, figures, page
from apps.studies.models import Study

PAGE = "kumar-2026.md"
IMAGES = "images/kumar-2026"


class Command(BaseCommand):
    help = f"Writes {PAGE} and its figures: the results of Kumar et al. 2026 as published and as computed here."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="holds annotations/ and original_data/")
        parser.add_argument("--study", default="kumar-2026", help="the study that import_kumar2026 made")
        parser.add_argument("--out", type=Path, required=True, metavar="DIR")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}: run import_kumar2026 first.")
        try:
            published = published_pairs(options["folder"], read_study(options["folder"]))
            view = SnapshotView(take_snapshot(study=study))
        except (KumarError, NothingRatedError) as error:
            raise CommandError(str(error)) from None
        here = Here(
            view.rows(),
            view.rows(convention=Convention.OBSERVED),
            view.raters(),
            FigureLabels.of(view.scales(), view.raters()),
        )
        texts = {f"{IMAGES}/{figure.name}.svg": f"{svg_of(figure)}\n" for figure in figures(published, here)}
        texts[PAGE] = page(published, here, IMAGES)
        for name, text in texts.items():
            path = options["out"] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            self.stdout.write(f"wrote {path}")
