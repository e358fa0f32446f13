"""The agreement of a study: who agrees with whom, scale by scale, and how sure that is.

A page shows figures of a snapshot, and says how old they are; a view that only chooses among them computes nothing.
"""

from contextlib import suppress
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.access import PersonRequest
from apps.common.htmx import render_page_or_partial
from apps.common.services.heartbeats import WORKER_SILENT_AFTER
from apps.common.tasks import start_job
from apps.dashboard.agreement.attainment import attainments
from apps.dashboard.agreement.choosing import Choice
from apps.dashboard.agreement.figures import NAMES, figures_of
from apps.dashboard.agreement.query import GROUPS, Fault, Pairs, Query, parse
from apps.dashboard.agreement.results import IN_TWO_CONVENTIONS, Results, other_convention, results_of
from apps.dashboard.agreement.tables import GROUP_COLUMNS, RETEST_COLUMNS
from apps.dashboard.agreement_access import study_in_sight
from apps.dashboard.agreement_words import Words, chips_of, sentences_of
from apps.dashboard.services.agreement import (
    Choices,
    Standing,
    choices_of,
    computed_at_once,
    standing_at_once,
    standing_of,
)
from apps.dashboard.views.agreement_basis import items_context, json_address
from apps.dashboard.views.figure_files import TYPES, figure_file
from apps.measures.pairs import PAIR_STATISTICS, Convention
from apps.reliability.accounting import RaterUse
from apps.reliability.documents import INTERVALS
from apps.reliability.kept import UnreadableError
from apps.reliability.services.estimating import computes_quickly
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import request_snapshot
from apps.reports.figures.figure import Figure
from apps.reports.figures.palettes import PAPER, SCREEN, Palette
from apps.reports.tables import csv_lines
from apps.studies.models import Study

PAGE = "agreement/overview.html"


@require_safe
@login_required
def overview(request: PersonRequest, slug: str) -> HttpResponse:
    """The view that the parameters ask for. While figures are computed the page asks for its part `standing`."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    choices, query, faults = asked_for(request, study)
    if not faults and not request.htmx and query.pairs() != _given(request):
        return redirect(address_of(study, query))
    standing = standing_at_once(study, query.selection, by=request.user)
    if _only_standing(request, standing):
        return render(request, f"{PAGE}#standing", _standing_context(study, query, standing))
    context = {
        "is_managed": study.is_managed_by(request.user),
        **_standing_context(study, query, standing),
        **_choices_context(choices, query, faults),
        **_results_context(standing, query),
    }
    response = render_page_or_partial(request, PAGE, context, partial="agreement")
    if request.htmx and request.htmx.target == "standing":
        # All of the page has changed, not only how far the computing is.
        response["HX-Retarget"] = "#agreement"
    elif request.htmx:
        response["HX-Push-Url"] = address_of(study, query)
    return response


@require_POST
@login_required
def compute(request: PersonRequest, slug: str) -> HttpResponse:
    """Has the figures of the address's view computed, by a job where it takes longer, and goes back to it."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    _choices, query, _faults = asked_for(request, study)
    address = address_of(study, query)
    standing = standing_of(study, query.selection)
    if not standing.is_computing and computes_quickly(study):
        standing = computed_at_once(standing, by=request.user)
    if not standing.nothing and not standing.is_current:
        start_job(request_snapshot(study=study, selection=query.selection, by=request.user, back_url=address))
    return HttpResponseRedirect(address)


@require_safe
@login_required
def csv_file(request: PersonRequest, slug: str) -> HttpResponseBase:
    """Every statistic of the comparisons of a view, in the columns of `agreement.csv`.

    Where nothing is computed yet, the page says so instead.
    """
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    _choices, query, _faults = asked_for(request, study)
    snapshot = standing_at_once(study, query.selection, by=request.user).snapshot
    if snapshot is None:
        return redirect(address_of(study, query))
    view = SnapshotView(snapshot)
    try:
        rows = view.rows(convention=query.convention, block=query.block, framework=query.framework)
        chosen = Choice(query, view.raters()).rows(rows)
    except UnreadableError:
        return redirect(address_of(study, query))
    response = StreamingHttpResponse(csv_lines(chosen), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="agreement-{study.slug}.csv"'
    return response


@require_safe
@login_required
def figure(request: PersonRequest, slug: str, file: str) -> HttpResponse:
    """A figure of a view as SVG or PNG, in the colours of paper. Not there before its figures are computed."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    name, _dot, form = file.rpartition(".")
    if name not in NAMES or form not in TYPES:
        raise Http404
    _choices, query, _faults = asked_for(request, study)
    snapshot = standing_at_once(study, query.selection, by=request.user).snapshot
    found: list[Figure] = []
    if snapshot is not None:
        view = SnapshotView(snapshot)
        with suppress(UnreadableError):
            found = _figures(view, query, read_results(view, query), PAPER)
    drawn = next((one for one in found if one.name == name), None)
    return figure_file(request, drawn, form, f"{study.slug}-{name}")


def asked_for(request: PersonRequest, study: Study) -> tuple[Choices, Query, tuple[Fault, ...]]:
    """What the study has to choose from, and what the address chooses."""
    choices = choices_of(study, request.GET.getlist("rater"))
    query, faults = parse(_given(request), choices.offer)
    return choices, query, faults


def address_of(study: Study, query: Query) -> str:
    encoded = query.encoded()
    return reverse("agreement:overview", args=[study.slug]) + (f"?{encoded}" if encoded else "")


def carried_by(query: Query) -> str:
    """The parameters that go along to the pages of scales and raters."""
    return query.but(block="", framework="", columns=Pairs.BENCHMARK).encoded()


def read_results(view: SnapshotView, query: Query) -> Results:
    """The figures of a view. Raises UnreadableError."""

    def read(convention: Convention, statistics: Any) -> Any:
        return view.rows(
            convention=convention, block=query.block, framework=query.framework, statistics=set(statistics)
        )

    keys = view.keys()
    shown = [key for key in keys if query.block in ("", key.block) and query.framework in ("", key.framework)]
    return results_of(query, read, shown, view.raters(), view.notes())


def _figures(view: SnapshotView, query: Query, results: Results, palette: Palette, carried: str = "") -> list[Figure]:
    slug, keys, query_string = view.snapshot.study.slug, view.keys(), f"?{carried}" if carried else ""
    links = {key: reverse("agreement:scale", args=[slug, *key]) + query_string for key in keys}
    return figures_of(query, results, palette, scales=view.scales(), raters=view.raters(), links=links)


def _given(request: PersonRequest) -> list[tuple[str, str]]:
    return [(name, value) for name, values in request.GET.lists() for value in values]


def _only_standing(request: PersonRequest, standing: Standing) -> bool:
    """Whether the page merely asks how far the computing is. Once it is over, everything has changed."""
    return bool(request.htmx) and request.htmx.target == "standing" and standing.is_computing


def _standing_context(study: Study, query: Query, standing: Standing) -> dict[str, Any]:
    return {
        "study": study,
        "query": query,
        "encoded": query.encoded(),
        "standing": standing,
        "job": standing.job,
        "silent_after": int(WORKER_SILENT_AFTER.total_seconds()),
    }


def _choices_context(choices: Choices, query: Query, faults: tuple[Fault, ...]) -> dict[str, Any]:
    words = Words(choices.labels)
    return {
        "choices": choices,
        "words": words,
        "chips": chips_of(query, words),
        "cleared": query.cleared().encoded(),
        "faults": sentences_of(faults),
        "statistics": PAIR_STATISTICS,
        "groups": [group for group in GROUPS if group in choices.groups or group in query.groups],
        "frameworks": choices.offer.frameworks_of(query.block),
        "metadata": dict(query.selection.metadata),
        "conventions": list(Convention),
        "carried": carried_by(query),
    }


def _results_context(standing: Standing, query: Query) -> dict[str, Any]:
    if standing.snapshot is None:
        return {"results": None}
    view = SnapshotView(standing.snapshot)
    try:
        results = read_results(view, query)
        raters = view.raters()
        figures = _figures(view, query, results, SCREEN, carried_by(query))
    except UnreadableError as problem:
        return {"results": None, "unreadable": str(problem)}
    other, account = other_convention(query.convention), view.account
    return {
        "snapshot": standing.snapshot,
        "results": results,
        "figures": figures,
        "attainments": attainments(results.benchmarks, view.keys()),
        "json_address": json_address(standing.snapshot, query),
        **items_context(view, query),
        "n_left_out": sum(rater.use is RaterUse.EXCLUDED for rater in account.raters),
        "n_single": account.n_single,
        "intervals": INTERVALS,
        "kinds": {rater.name: rater.kind.value for rater in raters if rater.kind is not None},
        "group_columns": GROUP_COLUMNS,
        "retest_columns": RETEST_COLUMNS,
        "has_two_conventions": query.statistic in IN_TWO_CONVENTIONS,
        "other_convention": other,
        "views": _views(query, results),
    }


def _views(query: Query, results: Results) -> dict[str, Any]:
    """Addresses of the views one step away."""
    return {
        "other_convention": query.but(convention=other_convention(query.convention)).encoded(),
        "benchmark": query.but(columns=Pairs.BENCHMARK).encoded(),
        "all": query.but(columns=Pairs.ALL).encoded(),
        "repeats": query.but(repeats=not query.repeats).encoded(),
        "stars": query.but(stars=not query.stars).encoded(),
        "previous": query.on_page(results.page - 1).encoded() if results.page > 1 else None,
        "next": query.on_page(results.page + 1).encoded() if results.page < len(results.page_names) else None,
    }
