"""Prompts and versions as pages show them: lists, the lines of a version, its examples and its raters."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_lazy as _

from apps.common.counting import counted
from apps.frameworks.models import Dimension
from apps.llm.answers import point_text
from apps.llm.examples import SLOTS
from apps.llm.models import ModelRater, Prompt, PromptExample, PromptVersion
from apps.llm.services.prompting import leaked_items
from apps.llm.templates import Use
from apps.llm.versions import DiffLine, ExampleChoice, diff_lines, example_line
from apps.studies.models import Study


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A prompt in a list: its newest version, how many versions there are, and how many raters ask with them."""

    prompt: Prompt
    newest: PromptVersion
    n_versions: int
    n_raters: int


def prompts_of(study: Study) -> "QuerySet[Prompt, Prompt]":
    """The study's prompts by name that have a version, each with `newest_id`, `n_versions` and `n_raters`."""
    newest = PromptVersion.objects.filter(prompt=OuterRef("pk")).order_by("-number").values("pk")[:1]
    prompts = Prompt.objects.filter(Exists(PromptVersion.objects.filter(prompt=OuterRef("pk"))), study=study)
    return prompts.annotate(
        newest_id=Subquery(newest),
        n_versions=counted(PromptVersion.objects.filter(prompt=OuterRef("pk")), by="prompt"),
        n_raters=counted(ModelRater.objects.filter(version__prompt=OuterRef("pk")), by="version__prompt"),
    ).order_by("name", "pk")


def prompt_rows(prompts: Iterable[Any]) -> list[PromptRow]:
    """Prompts of `prompts_of`, each with its newest version. Two queries."""
    rows = list(prompts)
    versions = PromptVersion.objects.select_related("prompt", "created_by").in_bulk([row.newest_id for row in rows])
    return [PromptRow(row, versions[row.newest_id], row.n_versions, row.n_raters) for row in rows]


def raters_of(version: PromptVersion) -> list[ModelRater]:
    """Who asks with the version, by name. One query."""
    return list(version.model_raters.select_related("rater").order_by("rater__name"))


def siblings_of(version: PromptVersion) -> "QuerySet[PromptVersion, PromptVersion]":
    """Every version of the same prompt, the newest first, each with `n_raters`."""
    rows = PromptVersion.objects.filter(prompt=version.prompt_id).select_related("prompt", "created_by")
    return rows.annotate(n_raters=Count("model_raters")).order_by("-number")


SLOT_LABELS = {"low": _("Low"), "middle": _("Middle"), "high": _("High")}


class ExampleCell(NamedTuple):
    """One slot of a scale; without an example, `example` is None and `score` empty."""

    label: str
    example: PromptExample | None
    score: str


class ScaleExamples(NamedTuple):
    """The examples of a version for one scale, low to high."""

    dimension: Dimension
    cells: Sequence[ExampleCell]


def study_examples(version: PromptVersion) -> list[ScaleExamples]:
    """What a version shows, scale by scale in the frameworks' order. They show ratings. One query."""
    found: dict[int, list[PromptExample]] = {}
    for example in _examples(version):
        found.setdefault(example.dimension_id, []).append(example)
    return [ScaleExamples(examples[0].dimension, _cells(examples)) for examples in found.values()]


def _cells(examples: Sequence[PromptExample]) -> list[ExampleCell]:
    by_slot = {example.slot: example for example in examples}
    return [
        ExampleCell(str(label), by_slot.get(slot), point_text(by_slot[slot].score) if slot in by_slot else "")
        for slot, label in SLOT_LABELS.items()
    ]


def n_left_out(version: PromptVersion) -> int:
    """How many items of the study the examples of a version spoil for its raters."""
    return len(leaked_items(version))


def content_lines(version: PromptVersion, *, with_examples: bool = True) -> list[str]:
    """What makes the version another one, as lines to read and to compare. Examples show ratings. Two queries."""
    return list(_lines(version, with_examples=with_examples))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions as texts, and line by line; `lines` is None where they are too long for that."""

    before: str
    after: str
    lines: list[DiffLine] | None

    @property
    def is_same(self) -> bool:
        return self.before == self.after

    @property
    def n_removed(self) -> int:
        return self._n("removed")

    @property
    def n_added(self) -> int:
        return self._n("added")

    def _n(self, change: str) -> int:
        return sum(line.change == change for line in self.lines or ())


def compared(old: PromptVersion, new: PromptVersion, *, with_examples: bool = True) -> Comparison:
    """Examples show ratings. Four queries."""
    before, after = (content_lines(version, with_examples=with_examples) for version in (old, new))
    return Comparison("\n".join(before), "\n".join(after), diff_lines(before, after))


def _lines(version: PromptVersion, *, with_examples: bool) -> Iterator[str]:
    yield f"asks for: {'one scale' if version.use == Use.SCALE else 'a whole framework'}"
    for framework in version.frameworks.order_by("slug", "version"):
        yield f"framework: {framework.slug}, version {framework.version} ({framework.content_hash[:12]})"
    yield f"cannot_tell: {'allowed' if version.cannot_tell else 'not allowed'}"
    yield f"texts around the template: format {version.prompt_format}"
    for example in _examples(version) if with_examples else ():
        conversation = example.item.conversation
        name = f"{example.item.block.slug}/{conversation.external_id}"
        scale = f"{example.dimension.framework.slug}/{example.dimension.slug}"
        yield example_line(ExampleChoice(scale, example.slot, name, conversation.content_hash, example.score))
    yield "--- system message ---"
    yield from version.system.split("\n")
    yield "--- user message ---"
    yield from version.user.split("\n")


def _examples(version: PromptVersion) -> list[PromptExample]:
    """In the order of frameworks, scales and slots."""
    rows = version.examples.select_related("dimension__framework", "item__block", "item__conversation")
    return sorted(
        rows,
        key=lambda example: (
            example.dimension.framework.slug,
            example.dimension.framework_id,
            example.dimension.position,
            [*SLOTS].index(example.slot),  # type: ignore[arg-type]
        ),
    )
