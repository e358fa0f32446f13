"""One rater beside the others, and all of them in a list."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.corpus.parsing.records import text_fault
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.rater_parts import (
    RETESTS,
    RaterLine,
    RaterRows,
    Sort,
    listed_raters,
    rater_lines,
    retest_lines,
)
from apps.dashboard.agreement_access import study_in_sight
from apps.dashboard.services.agreement_subjects import excluded_raters, exclusions_of, raters_named
from apps.dashboard.views.agreement_asking import Asked, answer_to_poll, asked_of
from apps.llm.services.model_accounts import asked_with
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import GROUP_NAMES, RaterKey
from apps.reliability.services.reading import SnapshotView
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import SCREEN
from apps.reports.figures.profiles import rater_profile_figure
from apps.studies.models import Rater, RaterKind

LIST = "agreement/rater_list.html"
PAGE = "agreement/rater.html"
RATERS_ON_A_PAGE = 50
OWN_PARAMETERS = ("sort", "lowest")


@require_safe
@login_required
def raters(request: PersonRequest, slug: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    asked = asked_of(request, study, OWN_PARAMETERS, at_once=True, followed=("block", "framework", "group", "rater"))
    if polled := answer_to_poll(asked):
        return polled
    context = {**asked.context(), **_listed(asked)}
    return render_page_or_partial(request, LIST, context, partial="raters")


@require_safe
@login_required
def rater(request: PersonRequest, slug: str, name: str) -> HttpResponse:
    """Whoever the study or its figures know; also who is left out of the figures, to say why."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    if text_fault(name):
        raise Http404
    found = raters_named(study, [name]).get(name)
    asked = asked_of(request, study, at_once=found is not None, followed=("block", "framework"))
    if polled := answer_to_poll(asked):
        return polled
    context = {**asked.context(), "name": name, "rater": found, **_profile(asked, name)}
    if found is None and context["who"] is None:
        raise Http404
    exclusions = exclusions_of(found) if found else []
    is_excluded = any(one.item_id is None for one in exclusions)
    context |= {"exclusions": exclusions, "excluded": {name} if is_excluded else set()}
    context |= _described(found, context["who"])
    context["asked_with"], context["asked_in"] = asked_with(found)
    return render_page_or_partial(request, PAGE, context, partial="rater")


def _described(found: Rater | None, who: RaterKey | None) -> dict[str, Any]:
    """The rater as they are now, else as the figures have them."""
    kind = found.kind if found else who.kind.value if who and who.kind else ""
    return {
        "kind": kind,
        "kind_words": RaterKind(kind).label if kind else "",
        "is_aggregate": found.is_aggregate if found else bool(who and who.is_aggregate),
    }


def _listed(asked: Asked) -> dict[str, Any]:
    given = asked.request.GET.get("sort", "")
    sort = Sort(given) if given in list(Sort) else Sort.NAME
    lowest_first = asked.request.GET.get("lowest") == "1"
    context: dict[str, Any] = {"sort": sort, "lowest_first": lowest_first, "page_obj": None, "problems": []}
    if given not in {"", *Sort}:
        context["problems"] = [
            _("sort “%(given)s” is not known here, and was left out; expected one of %(expected)s.")
            % {"given": given, "expected": ", ".join(Sort)}
        ]
    if asked.view is None:
        return context
    query = asked.query
    try:
        rows = asked.view.rows(
            convention=query.convention, block=query.block, framework=query.framework, statistics=[query.statistic]
        )
        lines = listed_raters(rows, _chosen(asked.view, query), sort, lowest_first=lowest_first)
    except UnreadableError as problem:
        return context | {"unreadable": str(problem)}
    page = Paginator(lines, RATERS_ON_A_PAGE).get_page(query.page)
    return context | {
        "page_obj": page,
        "known": raters_named(asked.study, [line.rater.name for line in page]),
        "excluded": excluded_raters(asked.study),
        "left_out": asked.view.account.raters_excluded(),
    }


def _chosen(view: SnapshotView, query: Query) -> list[RaterKey]:
    """The raters of the view's groups and names."""
    return [
        one
        for one in view.raters()
        if (not query.groups or (one.kind is not None and GROUP_NAMES[one.kind] in query.groups))
        and (not query.raters or one.name in query.raters)
    ]


def _profile(asked: Asked, name: str) -> dict[str, Any]:
    """`who` is None where the figures do not know the rater."""
    nothing: dict[str, Any] = {"who": None, "lines": []}
    if asked.view is None:
        return nothing
    try:
        everybody = asked.view.raters()
        place = next((number for number, one in enumerate(everybody) if one.name == name), None)
        if place is None:
            return nothing
        return {
            "who": everybody[place],
            **_neighbours(everybody, place),
            **_figures(asked, asked.view, everybody[place]),
        }
    except UnreadableError as problem:
        return nothing | {"unreadable": str(problem)}


def _neighbours(everybody: list[RaterKey], place: int) -> dict[str, Any]:
    return {
        "number": place + 1,
        "n_raters": len(everybody),
        "previous": everybody[place - 1] if place else None,
        "next": everybody[place + 1] if place + 1 < len(everybody) else None,
    }


def _figures(asked: Asked, view: SnapshotView, who: RaterKey) -> dict[str, Any]:
    lines = lines_of(asked, view, who.name)
    where = {"block": asked.query.block, "framework": asked.query.framework}
    rows = view.rows(convention=asked.query.convention, statistics=RETESTS, **where)
    labels = FigureLabels.of(view.scales(), view.raters())
    return {
        "lines": lines,
        "shows_experts": any(line.experts for line in lines),
        "retests": retest_lines([line.scale for line in lines], RaterRows(who.name, rows)),
        "rater_figure": rater_profile_figure(who, lines, labels, SCREEN) if lines else None,
        "kinds": {one.name: one.kind.value for one in view.raters() if one.kind is not None},
    }


def lines_of(asked: Asked, view: SnapshotView, name: str) -> list[RaterLine]:
    """The rater on each scale of the view. Raises UnreadableError."""
    query = asked.query
    where = {"block": query.block, "framework": query.framework}
    return rater_lines(
        name,
        view.tables(**where),
        {scale.key: scale for scale in view.scales()},
        RaterRows(name, view.rows(convention=query.convention, statistics={query.statistic, "bias"}, **where)),
        RaterRows(name, asked.other_rows()),
        statistic=query.statistic,
        threshold=query.threshold,
    )
