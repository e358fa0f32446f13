"""The report as one HTML file: figures, tables and words, without a script and without anything from elsewhere.

Colours are those of the site, so that it is readable in light and dark; on paper it is always light.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC
from itertools import groupby
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import override

from apps.reliability.matrix import TableKey
from apps.reports.contents import ReportContent
from apps.reports.figures.figure import Figure
from apps.reports.figures.palettes import SCREEN
from apps.reports.figures.planned import PlannedFigure
from apps.reports.figures.render import svg_of
from apps.reports.html_tables import data_table, figure_tables, left_out_table, notes_table, scales_table
from apps.reports.methods import methods_of
from apps.reports.model_checks import check_tables, models_table
from apps.reports.report_figures import FigurePlan, plan_figures
from apps.reports.wording import filter_text, undefined_text

TEMPLATE = "reports/report_file.html"
SHEETS = ("css/tokens.css", "css/report_file.css")
# The sentences of files are English, whatever language the site is read in.
LANGUAGE = "en"


@dataclass(frozen=True)
class Drawing:
    """A figure with its drawings. One of a single scale or rater is only drawn narrow, which fits everywhere."""

    figure: Figure
    narrow: SafeString
    wide: str = ""


@dataclass(frozen=True)
class Fold:
    """The figures of one scale or one rater, under their name; `place`: the framework of a scale."""

    heading: str
    place: str
    drawings: list[Drawing]


def html_of(
    content: ReportContent, plan: FigurePlan | None = None, told: Callable[[PlannedFigure], None] | None = None
) -> str:
    """The whole file. `told` is called before each figure of a single scale or rater, and may raise to end the work."""
    plan = plan or plan_figures(content)
    context = {
        "content": content,
        "computed": content.generated_at.astimezone(UTC),
        "filter": filter_text(content.options),
        "undefined": undefined_text(content.rows),
        "methods": methods_of(content),
        "data": data_table(content),
        "drawings": [_drawing(figure.drawn(SCREEN)) for figure in plan.overview],
        "folders": _folders(content, plan, told),
        "figures_left_out": plan.left_out,
        "tables": list(figure_tables(content)),
        "models": models_table(content),
        "checks": list(check_tables(content)),
        "notes": notes_table(content),
        "left_out": left_out_table(content),
        "scales": scales_table(content),
        "versions": list(content.versions.items()),
        "styles": _styles(),
    }
    with override(LANGUAGE):
        return render_to_string(TEMPLATE, context)


def _drawing(figure: Figure) -> Drawing:
    return Drawing(figure, svg_of(figure, narrow=True), svg_of(figure))


def _folders(
    content: ReportContent, plan: FigurePlan, told: Callable[[PlannedFigure], None] | None
) -> dict[str, list[Fold]]:
    """The figures of scales, and those of raters, as they lie in the archive."""
    found: dict[str, list[Fold]] = {}
    for (folder, of), figures in groupby(plan.singles, key=lambda figure: (figure.folder, figure.of)):
        drawn = list(_narrow_drawings(figures, told))
        place = content.place_of(of) if isinstance(of, TableKey) else ""
        found.setdefault(folder, []).append(Fold(drawn[0][0].heading, place, [drawing for _one, drawing in drawn]))
    return found


def _narrow_drawings(
    figures: Iterator[PlannedFigure], told: Callable[[PlannedFigure], None] | None
) -> Iterator[tuple[PlannedFigure, Drawing]]:
    for planned in figures:
        if told:
            told(planned)
        figure = planned.drawn(SCREEN)
        yield planned, Drawing(figure, svg_of(figure, narrow=True))


def _styles() -> SafeString:
    """Our own sheets. Raises FileNotFoundError where one is missing."""
    texts = []
    for name in SHEETS:
        found = finders.find(name)
        if found is None:
            raise FileNotFoundError(f"the style sheet {name} is missing")
        texts.append(Path(str(found)).read_text(encoding="utf-8"))
    return mark_safe("\n".join(texts))  # noqa: S308 - files of ours, no text of anybody
