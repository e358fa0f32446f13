"""Figures of scales and raters as files, in the colours of paper."""

from contextlib import suppress

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from apps.accounts.access import PersonRequest
from apps.dashboard.agreement.scale_drawings import DRAWINGS, ScaleDrawings
from apps.dashboard.agreement_access import study_in_sight
from apps.dashboard.views.agreement_asking import Asked, asked_of
from apps.dashboard.views.agreement_rater import lines_of
from apps.dashboard.views.agreement_scale import OWN_PARAMETERS, chosen_pair
from apps.dashboard.views.figure_files import TYPES, figure_file
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import TableKey
from apps.reports.figures.figure import Figure, slug_of
from apps.reports.figures.labels import FigureLabels
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.profiles import rater_profile_figure


@require_safe
@login_required
def scale_figure(
    request: PersonRequest, slug: str, block_slug: str, framework_slug: str, dimension_slug: str, file: str
) -> HttpResponse:
    """`file`: a name of DRAWINGS and its form, as in `use.svg`."""
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    name, _dot, form = file.rpartition(".")
    if name not in DRAWINGS or form not in TYPES:
        raise Http404
    asked = asked_of(request, study, OWN_PARAMETERS)
    figure = None
    with suppress(UnreadableError):
        figure = _scale_figure(asked, TableKey(block_slug, framework_slug, dimension_slug), name)
    return figure_file(request, figure, form, slug_of(study.slug, framework_slug, dimension_slug, name))


@require_safe
@login_required
def rater_figure(request: PersonRequest, slug: str, name: str, form: str) -> HttpResponse:
    study, hidden = study_in_sight(request, slug)
    if hidden:
        return hidden
    asked = asked_of(request, study)
    figure = None
    with suppress(UnreadableError):
        figure = _rater_figure(asked, name)
    return figure_file(request, figure, form, slug_of(study.slug, name))


def _scale_figure(asked: Asked, key: TableKey, name: str) -> Figure | None:
    if asked.view is None:
        return None
    table = next(asked.view.tables(**key._asdict()), None)
    if table is None:
        return None
    rows = asked.view.rows(convention=asked.query.convention, **key._asdict())
    labels = FigureLabels.of(asked.view.scales(), asked.view.raters())
    pair, _problems = chosen_pair(asked.request, table)
    return ScaleDrawings(table, rows, asked.query, labels, PAPER, pair).drawn(name)


def _rater_figure(asked: Asked, name: str) -> Figure | None:
    if asked.view is None:
        return None
    who = next((one for one in asked.view.raters() if one.name == name), None)
    lines = lines_of(asked, asked.view, name) if who else []
    if who is None or not lines:
        return None
    labels = FigureLabels.of(asked.view.scales(), asked.view.raters())
    return rater_profile_figure(who, lines, labels, PAPER)
