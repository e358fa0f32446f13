"""Raters join a study, under pseudonyms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from apps.accounts.models import User
from apps.common.lines import has_hidden_characters
from apps.common.models import AuditEntry
from apps.studies.models import Rater, RaterKind, Study

# A crowd is large: its numbers are padded, so that names sort as they were given.
PADDED_TO = {RaterKind.CROWD: 3}

# How reports call groups, and the value that they compute of one: a rater of that name would be mistaken for it, and an
# imported aggregate would stand beside it as a second figure under one name.
GROUPS = {
    "experts": RaterKind.EXPERT,
    "crowd": RaterKind.CROWD,
    "llms": RaterKind.LLM,
    "selves": RaterKind.SELF,
    "references": RaterKind.REFERENCE,
    "baselines": RaterKind.BASELINE,
}
GROUP_VALUE = re.compile(rf"({'|'.join(GROUPS)})(-without-.+)?:(median|mean)")


class RaterConflict(ValueError):  # noqa: N818 - reads as what happened
    """A rater of that name is there already and is something else."""


@dataclass(frozen=True, slots=True)
class NewRater:
    """A rater as a caller wants it. Without a name it gets the next pseudonym of its kind."""

    kind: str
    name: str = ""
    is_aggregate: bool = False
    is_simulated: bool = False
    source: str = ""


@transaction.atomic
def add_rater(
    *,
    study: Study,
    kind: str,
    name: str = "",
    user: User | None = None,
    is_aggregate: bool = False,
    is_simulated: bool = False,
    source: str = "",
    actor: User | None = None,
) -> Rater:
    """One rater. Raises RaterConflict when the name is taken, is that of a group's value in reports, or when the person
    rates in the study already.
    """
    _check_name(name, kind)
    Study.objects.select_for_update().get(pk=study.pk)
    taken = set(study.raters.values_list("name", flat=True))
    if name in taken:
        raise RaterConflict(f"the study {study.slug} has a rater {name} already")
    if user is not None and study.raters.filter(user=user).exists():
        raise RaterConflict(f"{user} is a rater of {study.slug} already")
    rater = Rater.objects.create(
        study=study,
        name=name or _next_pseudonym(kind, taken),
        kind=kind,
        user=user,
        is_aggregate=is_aggregate,
        is_simulated=is_simulated,
        source=source,
    )
    _remember(study, [rater], actor)
    return rater


@transaction.atomic
def ensure_raters(*, study: Study, raters: Sequence[NewRater], actor: User | None = None) -> dict[str, Rater]:
    """name -> rater for every rater asked for; those that are missing are added, in three queries.

    Raises RaterConflict when a rater is there already with another kind, or differs in being an aggregate or
    simulated: two different raters never share a name. Nor may one have that of a group's value, or of another group.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    present = {rater.name: rater for rater in study.raters.all()}
    missing: dict[str, Rater] = {}
    for wanted in raters:
        name = wanted.name or _next_pseudonym(wanted.kind, present.keys() | missing.keys())
        known = present.get(name) or missing.get(name)
        if known is None:
            _check_name(name, wanted.kind)
            missing[name] = Rater(
                study=study,
                name=name,
                kind=wanted.kind,
                is_aggregate=wanted.is_aggregate,
                is_simulated=wanted.is_simulated,
                source=wanted.source,
            )
        else:
            check_same_rater(known, wanted)
    if missing:
        Rater.objects.bulk_create(missing.values())
        _remember(study, list(missing.values()), actor)
    return present | missing


def _check_name(name: str, kind: str) -> None:
    """A group's own name is left to raters of its kind: an imported aggregate stands for its group under it."""
    if has_hidden_characters(name):
        raise RaterConflict("a rater's name stands in one line, and holds no characters that cannot be seen")
    if GROUP_VALUE.fullmatch(name):
        raise RaterConflict(f"no rater can be called {name}: reports call the value that they compute of a group so")
    if name in GROUPS and GROUPS[name] != kind:
        raise RaterConflict(f"a rater of the kind {kind} cannot be called {name}: reports call another group so")


def check_same_rater(known: Rater, wanted: NewRater) -> None:
    """Raises RaterConflict unless the rater that is there is the one that is wanted."""
    if (known.kind, known.is_aggregate, known.is_simulated) != (
        wanted.kind,
        wanted.is_aggregate,
        wanted.is_simulated,
    ):
        raise RaterConflict(
            f"the study has a rater {known.name} already, which is {_described(known)}, not {_described(wanted)}"
        )


def _next_pseudonym(kind: str, taken: set[str]) -> str:
    """The kind and the number after the highest in use. Who left keeps the number: it is never given again."""
    pattern = re.compile(rf"{re.escape(kind)}(\d+)")
    numbers = [int(match[1]) for name in taken if (match := pattern.fullmatch(name))]
    return f"{kind}{max(numbers, default=0) + 1:0{PADDED_TO.get(RaterKind(kind), 1)}d}"


def _described(rater: Rater | NewRater) -> str:
    words = ["simulated"] if rater.is_simulated else []
    return " ".join([*words, RaterKind(rater.kind).value, *(["aggregate"] if rater.is_aggregate else [])])


def _remember(study: Study, raters: Sequence[Rater], actor: User | None) -> None:
    AuditEntry.objects.create(
        actor=actor,
        action="rater.add",
        subject=study.slug,
        details={"raters": [rater.name for rater in raters], "kinds": sorted({str(rater.kind) for rater in raters})},
    )
