"""What the agreement pages call things, and what they say of parameters they could not follow."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.dashboard.agreement.cells import Flip
from apps.dashboard.agreement.query import Expected, Fault, Query, Trouble
from apps.measures.pairs import Convention
from apps.reliability.labels import Labels
from apps.studies.selection import FACTOR, LANGUAGE, META

STATISTICS: dict[str, str | Promise] = {
    "kappa_quadratic": gettext_lazy("Kappa, quadratic weights"),
    "kappa_linear": gettext_lazy("Kappa, linear weights"),
    "kappa_unweighted": gettext_lazy("Kappa, unweighted"),
    "percent_agreement": gettext_lazy("Equal ratings"),
    "within_one": gettext_lazy("Equal or next to each other"),
    "spearman": gettext_lazy("Spearman’s rho"),
    "kendall_tau_b": gettext_lazy("Kendall’s tau-b"),
    "mae": gettext_lazy("Mean absolute difference"),
    "bias": gettext_lazy("Bias: mean of the second less the first"),
    "f1_weighted": gettext_lazy("F1, weighted"),
    "alpha_nominal": gettext_lazy("Alpha, nominal"),
    "alpha_ordinal": gettext_lazy("Alpha, ordinal"),
    "alpha_interval": gettext_lazy("Alpha, interval"),
    "alpha_ratio": gettext_lazy("Alpha, ratio"),
    "fleiss_kappa": gettext_lazy("Fleiss’ kappa"),
    "ac1": gettext_lazy("AC1"),
    "ac2_quadratic": gettext_lazy("AC2, quadratic"),
    "icc_2_1": gettext_lazy("ICC(2,1)"),
    "retest_kappa_quadratic": gettext_lazy("Kappa, quadratic weights"),
    "retest_mae": gettext_lazy("Mean absolute difference"),
}
GROUPS: dict[str, str | Promise] = {
    "experts": gettext_lazy("experts"),
    "crowd": gettext_lazy("crowd"),
    "llms": gettext_lazy("models"),
    "selves": gettext_lazy("self-reports"),
    "references": gettext_lazy("references"),
    "baselines": gettext_lazy("baselines"),
}
CONVENTIONS: dict[str, str | Promise] = {
    Convention.SCALE: gettext_lazy("the scale’s declared points"),
    Convention.OBSERVED: gettext_lazy("the values that occur (as much published work)"),
}
CONVENTIONS_SHORT: dict[str, str | Promise] = {
    Convention.SCALE: gettext_lazy("declared points"),
    Convention.OBSERVED: gettext_lazy("observed values"),
}
# Beside a figure, where there is room for a word.
CONVENTION_FLAGS: dict[str, str | Promise] = {
    Convention.SCALE: gettext_lazy("declared"),
    Convention.OBSERVED: gettext_lazy("observed"),
}
# The test that goes with a convention (measures.kappa).
TESTS: dict[str, str | Promise] = {
    Convention.SCALE: gettext_lazy("test under kappa = 0"),
    Convention.OBSERVED: gettext_lazy("published test"),
}
PARAMETERS: dict[str, str | Promise] = {
    "block": gettext_lazy("Block"),
    "framework": gettext_lazy("Framework"),
    "group": pgettext_lazy("raters of one kind", "Group"),
    "rater": gettext_lazy("Rater"),
    "excluded": gettext_lazy("Excluded raters"),
    "repeats": gettext_lazy("Repeated items"),
    LANGUAGE: gettext_lazy("Language"),
}
# What the other convention says where it says something else.
FLIPS: dict[str, str | Promise] = {
    Flip.DEFINED: gettext_lazy("defined"),
    Flip.UNDEFINED: gettext_lazy("not defined"),
    Flip.SIGNIFICANT: gettext_lazy("significant"),
    Flip.NOT_SIGNIFICANT: gettext_lazy("not significant"),
    Flip.REACHES: gettext_lazy("reaches the threshold"),
    Flip.BELOW: gettext_lazy("below the threshold"),
}
FIGURES: dict[str, str | Promise] = {
    "benchmark": gettext_lazy("Picture by scale"),
    "frameworks": gettext_lazy("Picture by framework"),
    "alphas": gettext_lazy("Picture of groups"),
}
NUMBERS: dict[str, str | Promise] = {
    Expected.SHARE: gettext_lazy("a number from 0 to 1"),
    Expected.COUNT: gettext_lazy("a whole number from 1 on"),
}
SHOWN_EXPECTED = 12


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter in force. `encoded`: the address of the view without it."""

    name: str
    value: str
    encoded: str


class Words:
    """Names of a study's blocks, frameworks and scales; slugs where there is none, as for what was removed since."""

    def __init__(self, labels: Labels) -> None:
        self._blocks = {block.slug: block.title for block in labels.blocks}
        self._frameworks = {one.slug: one.name for one in labels.frameworks}
        self._scales = {(one.slug, scale.slug): scale.label for one in labels.frameworks for scale in one.dimensions}

        used = [slug for block in labels.blocks for slug, _version in block.frameworks]
        self._shared = {slug for slug in used if used.count(slug) > 1}

    @property
    def has_blocks(self) -> bool:
        """Whether a block has to be told from another."""
        return len(self._blocks) > 1

    def is_in_several_blocks(self, framework: str) -> bool:
        return framework in self._shared

    def block(self, slug: str) -> str:
        return self._blocks.get(slug, slug)

    def framework(self, slug: str) -> str:
        return self._frameworks.get(slug, slug)

    def scale(self, framework: str, dimension: str) -> str:
        return self._scales.get((framework, dimension), dimension)


def chips_of(query: Query, words: Words, *, but: Collection[str] = ()) -> list[Chip]:
    """`but`: parameters that are not to be named."""
    return [
        Chip(trait_name(name), _value(name, value, words), query.without(name, value).encoded())
        for name, value in query.filters()
        if name not in but
    ]


def trait_name(name: str) -> str:
    """A parameter as a person would call it."""
    if name in PARAMETERS:
        return str(PARAMETERS[name])
    return name.removeprefix(META).removeprefix(FACTOR)


def sentences_of(faults: Iterable[Fault]) -> list[str]:
    return [_sentence(fault) for fault in faults]


def _sentence(fault: Fault) -> str:
    if len(fault.expected) == 1 and isinstance(fault.expected[0], Expected):
        facts = {"name": fault.parameter, "given": fault.given, "expected": NUMBERS[fault.expected[0]]}
        return _("%(name)s “%(given)s” cannot be, and was left out; expected %(expected)s.") % facts
    expected = ", ".join(one or _("(empty)") for one in fault.expected[:SHOWN_EXPECTED])
    if len(fault.expected) > SHOWN_EXPECTED:
        expected = f"{expected} …"
    facts = {"name": fault.parameter, "given": fault.given, "expected": expected}
    if fault.trouble is Trouble.GIVEN_TWICE:
        return _("%(name)s was given more than once (%(given)s): the first counts.") % facts
    if fault.trouble is Trouble.UNKNOWN_NAME:
        if not expected:
            return _("%(name)s is no filter here, and was left out.") % facts
        return _("%(name)s is no filter here, and was left out; there are %(expected)s.") % facts
    if not expected:
        return _("%(name)s “%(given)s” is not known here, and was left out; there is none to choose.") % facts
    return _("%(name)s “%(given)s” is not known here, and was left out; expected one of %(expected)s.") % facts


def _value(name: str, value: str, words: Words) -> str:
    if name == "block":
        return words.block(value)
    if name == "framework":
        return words.framework(value)
    if name == "group":
        return str(GROUPS[value])
    if name == "excluded":
        return _("taken in")
    if name == "repeats":
        return _("shown")
    return value or _("(empty)")
