"""What the pages of scales and raters need of templates, beside what every agreement page does (agreement.py)."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.dashboard.agreement.cells import STEPS, at_two_decimals
from apps.dashboard.agreement.scale_parts import Among
from apps.dashboard.agreement_words import GROUPS, STATISTICS
from apps.measures.results import Result
from apps.reliability.distributions import Distribution
from apps.reliability.matrix import GROUP_NAMES, Kind

register = template.Library()

PARTS: dict[str, str | Promise] = {
    "alphas": _("Krippendorff’s alpha"),
    "chance": _("Corrected for chance, on the declared points"),
    "icc": _("Intraclass correlation, on conversations that every rater rated"),
    "raw": _("As it is"),
}
MORE_STATISTICS: dict[str, str | Promise] = {
    "ac2_linear": _("AC2, linear"),
    "conger_kappa": _("Conger’s kappa"),
    "brennan_prediger": _("Brennan–Prediger"),
    "icc_1_1": _("ICC(1,1)"),
    "icc_3_1": _("ICC(3,1)"),
    "icc_1_k": _("ICC(1,k)"),
    "icc_2_k": _("ICC(2,k)"),
    "icc_3_k": _("ICC(3,k)"),
}
AMONG: dict[str, str | Promise] = {
    Among.EXPERTS: _("the experts"),
    Among.CROWD: _("the crowd"),
    Among.MODELS: _("the models"),
    Among.EVERYBODY: _("all raters"),
    Among.EXPERTS_MODELS: _("experts and models"),
    Among.EXPERTS_CROWD: _("experts and crowd"),
}


@register.filter
def statistics_part(name: str) -> str | Promise:
    return PARTS[name]


@register.filter
def group_statistic_name(slug: str) -> str | Promise:
    return STATISTICS.get(slug) or MORE_STATISTICS.get(slug, slug)


@register.filter
def among_name(among: str) -> str | Promise:
    return AMONG[among]


@register.filter
def group_of_kind(kind: Kind) -> str | Promise:
    return GROUPS[GROUP_NAMES[kind]]


@register.filter
def point_text(value: float) -> str:
    """A declared point as a person writes it: 3 and 2.5, not 3.0."""
    return f"{value:.10g}"


@register.filter
def percent(share: float) -> str:
    """A share in whole per cent; what is not nothing is never 0 %, and what is not all never 100 %."""
    shown = round(share * 100)
    if shown == 0 and share > 0:
        return "<1 %"
    return ">99 %" if shown == 100 and share < 1 else f"{shown} %"


@register.filter
def share_shade(share: float | None) -> int:
    """1 to STEPS by fifths, 0 for none."""
    return min(STEPS, 1 + int(share * STEPS)) if share else 0


@register.filter
def signed(value: float) -> str:
    """Two decimals with their sign; nothing has none."""
    text = at_two_decimals(value)
    return text if value <= 0 or text == "0.00" else f"+{text}"


@register.filter
def by_point(one: Distribution) -> list[tuple[int, float | None]]:
    """Count and share of each point; a share is None where there are no ratings."""
    shares: Iterable[float | None] = one.shares or [None] * len(one.counts)
    return list(zip(one.counts, shares, strict=True))


@register.filter
def ends(one: Distribution) -> tuple[Result, Result | None, Result]:
    """Shares at the lowest, the middle and the highest point."""
    return one.floor, one.middle, one.ceiling


@register.filter
def kept(parameters: QueryDict, but: str) -> list[tuple[str, str]]:
    """The parameters of the address as names and values, less the ones named."""
    return [(name, value) for name, values in parameters.lists() if name not in but.split() for value in values]


@register.filter
def counted_points(one: Distribution) -> list[tuple[float, int]]:
    """Each declared point with how many ratings are there."""
    return list(zip(one.points, one.counts, strict=True))


@register.filter
def value_of(mapping: Mapping[str, Any], name: str) -> Any:
    """What a mapping whose names people choose has under a name, None where it has nothing."""
    return mapping.get(name)
