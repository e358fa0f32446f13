"""What a model would be sent about one conversation, before anything is stored or sent."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from apps.frameworks.models import Framework
from apps.llm.models import Endpoint, PromptExample, PromptVersion
from apps.llm.prompts import Prompt, PromptError, PromptTooLongError
from apps.llm.services.estimating import TOKENS_BY_SCALE
from apps.llm.services.example_choice import items_with_text
from apps.llm.services.rendering import Renderer, turns_of
from apps.llm.services.run_items import text_sizes
from apps.llm.services.same_text import items_like
from apps.llm.templates import PromptTemplate, TemplateError, Use
from apps.llm.tokens import estimate_tokens
from apps.studies.models import BlockFramework, Item, Study


@dataclass(frozen=True, slots=True)
class Draft:
    """A version that is stored or not: what a prompt is made of. `examples` are empty for whoever is blind to them."""

    template: PromptTemplate
    frameworks: Sequence[Framework]
    cannot_tell: bool
    examples: Sequence[PromptExample] = ()

    @classmethod
    def of_version(cls, version: PromptVersion, *, with_examples: bool) -> "Draft":
        examples = version.examples.select_related("item__conversation").order_by("dimension_id", "pk")
        frameworks = list(version.frameworks.order_by("slug", "version"))
        return cls(version.template, frameworks, version.cannot_tell, list(examples) if with_examples else [])


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as it would be sent. Its tokens are by a rule of thumb."""

    role: str
    content: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Fit:
    """How the prompts go with an endpoint.

    problem: why the shown prompt does not fit, "" where it does or where the length of the context is not known.
    longest_problem: the same of the conversation with the longest prompt. Costs are None where there are no prices.
    """

    endpoint: Endpoint
    problem: str
    longest: str
    longest_problem: str
    n_items: int
    n_calls: int
    cost_of_call: Decimal | None
    input_tokens: int
    output_tokens: int
    cost_of_all: Decimal | None

    @property
    def small_cost(self) -> str:
        """What one call costs, to two digits that say something; empty where that is not known."""
        return "" if self.cost_of_call is None else f"{self.cost_of_call:.2g}"


@dataclass(frozen=True, slots=True)
class Preview:
    item: Item
    messages: Sequence[ShownMessage]
    schema: str
    schema_tokens: int
    tokens: int
    n_left_out: int
    fit: Fit | None

    @property
    def tokens_around(self) -> int:
        """What the form of the chat adds around messages and schema."""
        return self.tokens - self.schema_tokens - sum(message.tokens for message in self.messages)


class PreviewError(ValueError):
    """The prompt cannot be made; the message says why."""


def preview(
    *, study: Study, draft: Draft, item: Item, framework_id: int, dimension_id: int | None, endpoint: Endpoint | None
) -> Preview:
    """The prompt about one item on one scale (with None: on the whole framework). Raises PreviewError."""
    renderer = Renderer.of_draft(draft.template, draft.frameworks, draft.examples, cannot_tell=draft.cannot_tell)
    turns = turns_of([item.conversation_id])[item.conversation_id]
    try:
        prompt = renderer.prompt(turns, framework_id, dimension_id)
    except (PromptError, TemplateError) as error:
        raise PreviewError(str(error)) from error
    except KeyError as error:
        raise PreviewError(_("The version does not ask for this framework.")) from error
    schema = json.dumps(prompt.schema, indent=2, ensure_ascii=False)
    leaked = items_like(study.pk, {example.item.conversation_id for example in draft.examples})
    return Preview(
        item=item,
        messages=[ShownMessage(role, content, estimate_tokens(content)) for role, content in prompt.messages],
        schema=schema,
        schema_tokens=estimate_tokens(json.dumps(prompt.schema)),
        tokens=prompt.estimated_tokens,
        n_left_out=len(leaked),
        fit=None if endpoint is None else _Fitting(study, draft, renderer, item, leaked).of(prompt, endpoint),
    )


class _Fitting:
    """Estimates for every call of a run of the draft, from one prompt for each scale and the lengths of the texts."""

    def __init__(self, study: Study, draft: Draft, renderer: Renderer, item: Item, leaked: Iterable[int]) -> None:
        self.items = list(items_with_text(study).exclude(pk__in=leaked).select_related("conversation"))
        self.sizes = text_sizes({one.conversation_id for one in [item, *self.items]})
        self.use = draft.template.use
        self.bases = self._bases(draft, renderer, item)
        self.frameworks = _frameworks_by_block(study, self.bases)

    def of(self, prompt: Prompt, endpoint: Endpoint) -> Fit:
        scored = [(one, self.frameworks[one.block_id]) for one in self.items if one.block_id in self.frameworks]
        n_calls = sum(len(self.bases[framework]) for _one, frameworks in scored for framework in frameworks)
        input_tokens = sum(
            base + self.sizes.get(one.conversation_id, 0)
            for one, frameworks in scored
            for framework in frameworks
            for base, _n_scales in self.bases[framework]
        )
        output_tokens = sum(
            min(TOKENS_BY_SCALE * n_scales, endpoint.reply_tokens)
            for _one, frameworks in scored
            for framework in frameworks
            for _base, n_scales in self.bases[framework]
        )
        most, longest = max(
            ((self._most(one, frameworks), one.conversation.external_id) for one, frameworks in scored),
            default=(0, ""),
        )
        return Fit(
            endpoint=endpoint,
            problem=_problem(prompt.estimated_tokens, endpoint),
            longest=longest,
            longest_problem=_problem(most, endpoint),
            n_items=len(scored),
            n_calls=n_calls,
            cost_of_call=endpoint.cost_of(
                prompt.estimated_tokens, min(TOKENS_BY_SCALE * len(prompt.scales), endpoint.reply_tokens)
            ),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_of_all=endpoint.cost_of(input_tokens, output_tokens),
        )

    def _size(self, item: Item) -> int:
        return self.sizes.get(item.conversation_id, 0)

    def _most(self, item: Item, frameworks: Sequence[int]) -> int:
        """The tokens of the longest prompt about the item."""
        bases = (base for framework in frameworks for base, _n_scales in self.bases[framework])
        return self._size(item) + max(bases, default=0)

    def _bases(self, draft: Draft, renderer: Renderer, item: Item) -> dict[int, list[tuple[int, int]]]:
        """framework -> for each call about an item: its tokens without the conversation, and how many scales it asks.

        Raises PreviewError where a prompt cannot be made.
        """
        turns = turns_of([item.conversation_id])[item.conversation_id]
        known = Framework.objects.filter(pk__in=[framework.pk for framework in draft.frameworks]).with_scales()
        bases: dict[int, list[tuple[int, int]]] = {}
        for framework in known:
            scales = [one.pk for one in framework.dimensions.all()] if self.use is Use.SCALE else [None]
            try:
                prompts = [renderer.prompt(turns, framework.pk, scale) for scale in scales]
            except (PromptError, TemplateError) as error:
                raise PreviewError(str(error)) from error
            bases[framework.pk] = [(one.estimated_tokens - self._size(item), len(one.scales)) for one in prompts]
        return bases


def _frameworks_by_block(study: Study, wanted: Iterable[int]) -> dict[int, list[int]]:
    """block -> those of the frameworks that are used on it."""
    found: dict[int, list[int]] = {}
    rows = BlockFramework.objects.filter(block__study=study, framework__in=[*wanted])
    for block_id, framework_id in rows.values_list("block_id", "framework_id"):
        found.setdefault(block_id, []).append(framework_id)
    return found


def _problem(tokens: int, endpoint: Endpoint) -> str:
    context = endpoint.context_tokens
    if context is None or tokens + endpoint.reply_tokens <= context:
        return ""
    return str(PromptTooLongError(tokens, endpoint.reply_tokens, context))
