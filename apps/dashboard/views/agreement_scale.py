"""One scale: what raters were asked, how they used it, who agrees with whom on it, and over what they differ."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.dashboard.agreement.scale_drawings import ScaleDrawings
from apps.dashboard.agreement.scale_page import scale_figures
from apps.dashboard.agreement.scale_parts import (
    Among,
    Disputed,
    Mark,
    choices_of,
    confusion_rows,
    disputes,
    marks_of,
    usual_pair,
)
from apps.dashboard.agreement_access import study_in_sight
from apps.dashboard.services.agreement_subjects import (
    NamedItem,
    ScaleText,
    dimension_of,
    is_rated_on_screen,
    items_named,
    text_of_dimension,
    text_of_label,
)
from apps.dashboard.views.agreement_asking import Asked, answer_to_poll, asked_of
from apps.frameworks.models import Dimension
from apps.reliability.confusions import confusion_of
from apps.reliability.kept import UnreadableError
from apps.reliability.labels import PointLabel
from apps.reliability.matrix import Kind, RaterKey, RatingTable, TableKey
from apps.reliability.services.reading import SnapshotView
from apps.reports.figures.heat_maps import SYMMETRIC
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import SCREEN

PAGE = "agreement/scale.html"
DETAILS = "details"
OWN_PARAMETERS = ("a", "b", "among")
DISPUTES_ON_A_PAGE = 10


@dataclass(frozen=True, slots=True)
class DisputeRow:
    """A disputed conversation. `item` is None where it is there no more. points: each with who gave it."""

    disputed: Disputed
    item: NamedItem | None
    points: tuple[tuple[PointLabel, tuple[Mark, ...]], ...]


@require_safe
@login_required
def scale(request: PersonRequest, slug: str, block_slug: str, framework_slug: str, dimension_slug: str) -> HttpResponse:
    """htmx asks for the part `details`, what depends on the parameters that only this page has."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    key = TableKey(block_slug, framework_slug, dimension_slug)
    dimension = dimension_of(study, key)
    asked = asked_of(request, study, OWN_PARAMETERS, at_once=dimension is not None)
    if polled := answer_to_poll(asked):
        return polled
    only_details = bool(request.htmx) and request.htmx.target == DETAILS
    figures = _figures(asked, key, only_details=only_details)
    context = {**asked.context(), "key": key, "text": _text(asked, key, dimension), **figures}
    if not only_details:
        context["is_rated_here"] = is_rated_on_screen(study, key.block)
    return render_page_or_partial(request, PAGE, context, partial=DETAILS if only_details else "scale")


def _text(asked: Asked, key: TableKey, dimension: Dimension | None) -> ScaleText:
    """Of the study as it is, else of the figures; else there is no such scale (Http404)."""
    if dimension is not None:
        return text_of_dimension(dimension)
    with suppress(KeyError):
        if asked.view is not None:
            return text_of_label(asked.view.scale(key))
    raise Http404


def _figures(asked: Asked, key: TableKey, *, only_details: bool) -> dict[str, Any]:
    """Of the details or of all of the page; `table` is None where there is nothing to show."""
    if asked.view is None:
        return {"table": None}
    try:
        table = next(asked.view.tables(**key._asdict()), None)
        if table is None:
            return {"table": None}
        points = _points(asked.view, table)
        details = {
            "table": table,
            "points": points,
            **_confusion(asked, table, points),
            **_disputes(asked, table, points),
        }
        if only_details:
            return details
        return {**details, **_whole(asked, asked.view, table), **_neighbours(asked.view, key)}
    except UnreadableError as problem:
        return {"table": None, "unreadable": str(problem)}


def _points(view: SnapshotView, table: RatingTable) -> list[PointLabel]:
    """The declared points, ascending, with their words."""
    labels = {point.value: point.text for point in view.scale(table.key).dimension.points}
    return [PointLabel(value, labels.get(value, "")) for value in table.scale.points]


def _whole(asked: Asked, view: SnapshotView, table: RatingTable) -> dict[str, Any]:
    rows = view.rows(convention=asked.query.convention, **table.key._asdict())
    figures = scale_figures(table, rows, asked.other_rows(table.key), view.notes(), asked.query)
    drawings = ScaleDrawings(table, rows, asked.query, FigureLabels.of(view.scales(), view.raters()), SCREEN)
    return {
        "figures": figures,
        "benchmark_figure": drawings.benchmark(),
        "use_figure": drawings.use(),
        "draws_pairs": asked.query.statistic in SYMMETRIC,
        "kinds": {rater.name: rater.kind.value for rater in table.raters if rater.kind is not None},
    }


def _neighbours(view: SnapshotView, key: TableKey) -> dict[str, Any]:
    scales = view.scales()
    place = [scale.key for scale in scales].index(key)
    return {
        "number": place + 1,
        "n_scales": len(scales),
        "previous": scales[place - 1] if place else None,
        "next": scales[place + 1] if place + 1 < len(scales) else None,
    }


def _confusion(asked: Asked, table: RatingTable, points: list[PointLabel]) -> dict[str, Any]:
    pair, problems = chosen_pair(asked.request, table)
    context: dict[str, Any] = {"raters_by_kind": _by_kind(table), "confusion": None, "confusion_problems": problems}
    if pair is None:
        return context
    context |= {"chosen_a": pair[0], "chosen_b": pair[1]}
    if pair[0] == pair[1]:
        problems.append(_("Choose two different raters: nobody is confused with themselves."))
        return context
    confusion = confusion_of(table, *pair)
    rows = confusion_rows(confusion, points) if confusion.counts else []
    named = urlencode([*asked.query.on_page(1).pairs(), ("a", pair[0]), ("b", pair[1])])
    return context | {"confusion": confusion, "confusion_rows": rows, "confusion_query": named}


def chosen_pair(request: PersonRequest, table: RatingTable) -> tuple[tuple[str, str] | None, list[str]]:
    """The two raters of the table that `a` and `b` name, the usual ones for what is missing or unknown; and what of
    them could not be followed. None where there are not two raters."""
    names = {rater.name for rater in table.raters}
    usual = usual_pair(table)
    given = [request.GET.get(side, "") for side in ("a", "b")]
    unknown = [name for name in given if name not in {"", *names}]
    problems = [_("“%(name)s” rated nothing on this scale.") % {"name": name} for name in unknown]
    if usual is None:
        return None, problems
    a, b = (name if name in names else usual[place] for place, name in enumerate(given))
    return (a, b), problems


def _by_kind(table: RatingTable) -> list[tuple[Kind, list[RaterKey]]]:
    return [(kind, found) for kind in Kind if (found := [rater for rater in table.raters if rater.kind is kind])]


def _disputes(asked: Asked, table: RatingTable, points: list[PointLabel]) -> dict[str, Any]:
    offered = choices_of(table)
    given = asked.request.GET.get("among", "")
    context: dict[str, Any] = {"among_choices": offered, "dispute_problems": []}
    if given and given not in offered:
        expected = ", ".join(offered)
        context["dispute_problems"] = [
            _("among “%(given)s” is not known here, and was left out; expected one of %(expected)s.")
            % {"given": given, "expected": expected or _("(none)")}
        ]
    if not offered:
        return context | {"disputes": None}
    found = disputes(table, Among(given) if given in offered else offered[0])
    page = Paginator(found.items, DISPUTES_ON_A_PAGE).get_page(asked.query.page)
    named = items_named(asked.study, table.key.block, [one.item for one in page])
    rows = [
        DisputeRow(one, named.get(one.item), tuple(zip(points, marks_of(table, one.row), strict=True))) for one in page
    ]
    return context | {"disputes": found, "page_obj": page, "dispute_rows": rows}
