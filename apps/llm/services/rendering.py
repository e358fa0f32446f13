"""Prompts of a version: what a call asks, from the rows. One renderer for a stretch of work; it reads each row once."""

from collections.abc import Iterable, Mapping, Sequence

from apps.corpus.models import SpeakerRole, Turn
from apps.frameworks.models import Framework
from apps.frameworks.scales import FrameworkSpec
from apps.llm.models import Endpoint, PromptExample, PromptVersion
from apps.llm.prompts import Example, Prompt, PromptOptions, render_framework_prompt, render_scale_prompt
from apps.llm.templates import PromptTemplate, Use
from apps.llm.transcript import PromptTurn, SpeakerName

ROLES: Mapping[str, SpeakerName] = {
    SpeakerRole.SEEKER: "seeker",
    SpeakerRole.SUPPORTER: "supporter",
    SpeakerRole.OTHER: "other",
}

Turns = tuple[PromptTurn, ...]


def turns_of(conversation_ids: Iterable[int]) -> dict[int, Turns]:
    """conversation -> its turns in order, less those of the system; one query. Without any turn: an empty tuple."""
    wanted = set(conversation_ids)
    found: dict[int, list[PromptTurn]] = {pk: [] for pk in wanted}
    rows = (
        Turn.objects.filter(conversation__in=wanted)
        .exclude(role=SpeakerRole.SYSTEM)
        .order_by("conversation_id", "index")
        .values_list("conversation_id", "role", "text", "speaker")
    )
    for conversation_id, role, text, speaker in rows:
        found[conversation_id].append(PromptTurn(ROLES[role], text, speaker))
    return {pk: tuple(turns) for pk, turns in found.items()}


def has_text(turns: Sequence[PromptTurn]) -> bool:
    """Whether there is anything to rate."""
    return any(turn.text.strip() for turn in turns)


class Renderer:
    """Renders the prompts of one version for one endpoint; frameworks and examples are read when it is made.

    Without an endpoint nothing limits the length.
    """

    def __init__(self, version: PromptVersion, endpoint: Endpoint | None = None, *, is_reversed: bool = False) -> None:
        examples = version.examples.select_related("item").order_by("dimension_id", "pk")
        self._open(
            version.template,
            version.frameworks.all(),
            list(examples),
            cannot_tell=version.cannot_tell,
            endpoint=endpoint,
            is_reversed=is_reversed,
        )

    @classmethod
    def of_draft(
        cls,
        template: PromptTemplate,
        frameworks: Iterable[Framework],
        examples: Sequence[PromptExample] = (),
        *,
        cannot_tell: bool,
        endpoint: Endpoint | None = None,
    ) -> "Renderer":
        """The same for a version that is not stored yet, to preview it."""
        renderer = cls.__new__(cls)
        renderer._open(template, frameworks, examples, cannot_tell=cannot_tell, endpoint=endpoint, is_reversed=False)
        return renderer

    def _open(
        self,
        template: PromptTemplate,
        frameworks: Iterable[Framework],
        examples: Sequence[PromptExample],
        *,
        cannot_tell: bool,
        endpoint: Endpoint | None,
        is_reversed: bool,
    ) -> None:
        self.template = template
        known = Framework.objects.filter(pk__in=[framework.pk for framework in frameworks]).with_scales()
        self._specs: dict[int, FrameworkSpec] = {}
        self._slugs: dict[int, str] = {}
        for framework in known:
            self._specs[framework.pk] = framework.as_spec()
            self._slugs |= {dimension.pk: dimension.slug for dimension in framework.dimensions.all()}
        self._frameworks_of_dimensions = {
            dimension.pk: framework.pk for framework in known for dimension in framework.dimensions.all()
        }
        self._examples = list(examples)
        self._example_turns = turns_of(example.item.conversation_id for example in self._examples)
        self._cannot_tell = cannot_tell
        self._is_reversed = is_reversed
        self._context_tokens = endpoint.context_tokens if endpoint else None
        self._reply_tokens = endpoint.reply_tokens if endpoint else 1000

    def spec(self, framework_id: int) -> FrameworkSpec:
        return self._specs[framework_id]

    def prompt(self, turns: Turns, framework_id: int, dimension_id: int | None) -> Prompt:
        """What is asked about a conversation: on one scale, or with None on the whole framework.

        Raises what `render_scale_prompt` and `render_framework_prompt` raise.
        """
        spec = self._specs[framework_id]
        options = PromptOptions(
            cannot_tell=self._cannot_tell,
            is_reversed=self._is_reversed,
            examples=self._examples_for(framework_id, dimension_id),
            context_tokens=self._context_tokens,
            reply_tokens=self._reply_tokens,
        )
        if self.template.use is Use.SCALE and dimension_id is not None:
            return render_scale_prompt(self.template, spec, self._slugs[dimension_id], turns, options)
        return render_framework_prompt(self.template, spec, turns, options)

    def _examples_for(self, framework_id: int, dimension_id: int | None) -> tuple[Example, ...]:
        scores: dict[int, dict[str, float]] = {}
        items = {}
        for example in self._examples:
            wanted = (
                example.dimension_id == dimension_id
                if dimension_id is not None
                else self._frameworks_of_dimensions.get(example.dimension_id) == framework_id
            )
            if wanted:
                items[example.item_id] = example.item
                scores.setdefault(example.item_id, {})[self._slugs[example.dimension_id]] = example.score
        return tuple(
            Example(str(item_id), self._example_turns[items[item_id].conversation_id], values)
            for item_id, values in scores.items()
        )
