"""What the agreement pages need of templates: names of things, and figures as they are shown."""

from collections.abc import Iterable, Mapping, Sequence

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from apps.dashboard.agreement.cells import SHADED, TESTED, Flip, Other, at_two_decimals
from apps.dashboard.agreement.choosing import group_of
from apps.dashboard.agreement.query import Query
from apps.dashboard.agreement.tables import Column, ExpertRange
from apps.dashboard.agreement_words import (
    CONVENTION_FLAGS,
    CONVENTIONS,
    CONVENTIONS_SHORT,
    FIGURES,
    FLIPS,
    GROUPS,
    STATISTICS,
    TESTS,
    Words,
    trait_name,
)
from apps.reliability.matrix import GROUP_NAMES, TableKey
from apps.studies.selection import Trait

register = template.Library()
KINDS = {group: kind.value for kind, group in GROUP_NAMES.items()}


@register.filter
def two_decimals(value: float) -> str:
    return at_two_decimals(value)


@register.filter
def pair_range(experts: ExpertRange) -> str:
    """The lowest to the highest pair; a dash, where no minus sign stands beside it."""
    low, high = at_two_decimals(experts.low or 0.0), at_two_decimals(experts.high or 0.0)
    if (experts.low or 0.0) < 0:
        return pgettext("range of pairs", "%(low)s to %(high)s") % {"low": low, "high": high}
    return f"{low}\N{EN DASH}{high}"


@register.filter
def test_flag(other: Other, convention: str) -> str:
    """Of a figure whose value is the same in the other `convention`, and its test is not."""
    return _("same kappa; %(test)s: %(words)s") % {"test": TESTS[convention], "words": flip_words(other.flips)}


@register.filter
def statistic_name(slug: str) -> str | Promise:
    return STATISTICS.get(slug, slug)


@register.filter
def group_name(slug: str) -> str | Promise:
    return GROUPS.get(slug, slug)


@register.filter
def figure_name(slug: str) -> str | Promise:
    return FIGURES.get(slug, slug)


@register.filter
def convention_name(slug: str) -> str | Promise:
    return CONVENTIONS.get(slug, slug)


@register.filter
def convention_short(slug: str) -> str | Promise:
    return CONVENTIONS_SHORT.get(slug, slug)


@register.filter
def convention_flag(slug: str) -> str | Promise:
    return CONVENTION_FLAGS.get(slug, slug)


@register.filter
def flip_words(flips: Iterable[str]) -> str:
    """In what the conclusion would be another one; a value that is there or not says so itself."""
    return ", ".join(str(FLIPS[flip]) for flip in flips if flip not in (Flip.DEFINED, Flip.UNDEFINED))


@register.filter
def filter_name(parameter: str) -> str:
    return trait_name(parameter)


@register.filter
def scale_of(words: Words, key: tuple[str, str, str]) -> str:
    """The name of a scale by block, framework and dimension."""
    _block, framework, dimension = key
    return words.scale(framework, dimension)


@register.filter
def framework_of(words: Words, of: tuple[str, ...]) -> str:
    """The name of a framework by block and framework, with the block's where it is used in several."""
    block, framework = words.block(of[0]), words.framework(of[1])
    if not words.is_in_several_blocks(of[1]) or block == framework:
        return framework
    return block if block.startswith(framework) else f"{framework}, {block}"


@register.filter
def kind_of_side(name: str, kinds: Mapping[str, str]) -> str:
    """The kind of a rater, of a group or of a group's value; empty where nobody knows."""
    return kinds.get(name) or KINDS.get(name) or KINDS.get(group_of(name, {}), "")


@register.filter
def kind_of_group(name: str) -> str:
    return KINDS.get(name, "")


@register.filter
def side_name(name: str) -> str:
    """`experts:median` as a person would say it; a rater's name as it is."""
    group = group_of(name, {})
    if not group:
        return name
    before, _colon, how = name.rpartition(":")
    value = {"median": _("median of the %(group)s"), "mean": _("mean of the %(group)s")}[how] % {"group": GROUPS[group]}
    without = before.removeprefix(f"{group}-without-")
    return value if without == before else _("%(value)s without %(rater)s") % {"value": value, "rater": without}


@register.filter
def framework_title(words: Words, slug: str) -> str:
    return words.framework(slug)


@register.filter
def threshold_of(query: Query) -> str:
    """As the address writes it, whatever the language."""
    return f"{query.threshold:g}"


@register.filter
def values_by_frequency(trait: Trait) -> list[tuple[str, int]]:
    """What there is to choose of a name of metadata, with the numbers of conversations."""
    return trait.values


@register.filter
def values_of(chosen: Mapping[str, Sequence[str]], name: str) -> Sequence[str]:
    return chosen.get(name, ())


@register.filter
def column_name(columns: Sequence[Column], place: int) -> str:
    return side_name(columns[place].name)


@register.filter
def key_name(keys: Sequence[TableKey], place: int) -> str:
    return keys[place].dimension


@register.filter
def nth_statistic(slugs: Sequence[str], place: int) -> str | Promise:
    return statistic_name(slugs[place])


@register.filter
def is_shaded(statistic: str) -> bool:
    return statistic in SHADED


@register.filter
def is_tested(statistic: str) -> bool:
    return statistic in TESTED


@register.filter
def with_query(address: str, encoded: str) -> str:
    """An address with the parameters of a view; they are encoded already."""
    return f"{address}?{encoded}" if encoded else address
