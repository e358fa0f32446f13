"""What of a study a report may be narrowed to: blocks, frameworks, raters, and what conversations are told by."""

from dataclasses import dataclass

from django.db.models import Q

from apps.annotation.models import Rating
from apps.corpus.models import Conversation
from apps.corpus.parsing.records import text_fault
from apps.frameworks.models import Framework
from apps.reliability.matrix import GROUP_NAMES, Kind
from apps.studies.models import Exclusion, RaterKind, Study
from apps.studies.selection import Trait, Traits, tally_traits

CONVERSATIONS_AT_ONCE = 2_000


@dataclass(frozen=True)
class Choices:
    """Pairs are (value, label). `raters`: without single crowd workers, unless they were asked for."""

    blocks: list[tuple[str, str]]
    frameworks: list[tuple[str, str]]
    groups: list[tuple[str, str]]
    raters: list[tuple[str, str]]
    traits: list[Trait]
    n_exclusions: int
    has_ratings: bool


def choices_of(study: Study, *, raters_asked: list[str]) -> Choices:
    """A handful of queries, whatever the size; the conversations are read as a stream."""
    frameworks = Framework.objects.filter(blocks__study=study).order_by("name", "pk").values_list("slug", "name")
    raters = study.raters.order_by("kind", "name")
    kinds = set(raters.order_by().values_list("kind", flat=True).distinct())
    sought = [name for name in raters_asked if not text_fault(name)]
    single = raters.filter(~Q(kind=RaterKind.CROWD) | Q(is_aggregate=True) | Q(name__in=sought))
    return Choices(
        blocks=list(study.blocks.order_by("position").values_list("slug", "title")),
        frameworks=list(dict(frameworks).items()),
        groups=[(GROUP_NAMES[kind], str(RaterKind(kind.value).label)) for kind in Kind if kind.value in kinds],
        raters=[(name, name) for name in single.values_list("name", flat=True)],
        traits=_traits(study),
        n_exclusions=Exclusion.objects.in_force().filter(rater__study=study).count(),
        has_ratings=Rating.objects.finished().filter(rater__study=study).exists(),
    )


def _traits(study: Study) -> list[Trait]:
    talks = Conversation.objects.filter(items__block__study=study).distinct().order_by("pk")
    rows = talks.values_list("pk", "metadata", "factors", "language")
    return tally_traits(Traits(*traits) for _pk, *traits in rows.iterator(chunk_size=CONVERSATIONS_AT_ONCE))
