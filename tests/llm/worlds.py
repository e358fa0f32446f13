"""Endpoints, prompt versions, model raters and runs as rows, made without any service and without a network."""

from collections.abc import Callable, Iterable
from typing import Any

from django.utils import timezone

from apps.annotation.models import Rating
from apps.frameworks.models import Dimension
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.models import (
    Call,
    CallAnswer,
    CallState,
    Endpoint,
    Exchange,
    ExchangeState,
    ModelRater,
    Prompt,
    PromptVersion,
    Run,
    RunState,
)
from apps.llm.prompts import PROMPT_FORMAT
from apps.llm.templates import Use
from apps.studies.models import Item, Rater, RaterKind, Study

NOWHERE = "http://127.0.0.1:9/v1"  # the port that discards: nobody listens there


def make_endpoint(name: str = "local", *, url: str = NOWHERE, **fields: Any) -> Endpoint:
    """An endpoint on this machine that needs no key."""
    return Endpoint.objects.create(**{"name": name, "base_url": url, "model": "fake"} | fields)


def make_version(
    study: Study, *, use: Use = Use.SCALE, name: str = "Default", number: int = 1, **fields: Any
) -> PromptVersion:
    """A version of the default template with every framework of the study's blocks."""
    prompt, _ = Prompt.objects.get_or_create(study=study, name=name)
    template = DEFAULT_TEMPLATES[use]
    values = {"number": number, "use": use.value, "system": template.system, "user": template.user}
    version = PromptVersion.objects.create(prompt=prompt, **values | {"prompt_format": PROMPT_FORMAT} | fields)
    frameworks = study.blocks.values_list("block_frameworks__framework", flat=True).distinct()
    version.frameworks.set([pk for pk in frameworks if pk is not None])
    return version


def make_model_rater(
    version: PromptVersion,
    endpoint: Endpoint,
    *,
    name: str = "model1",
    samples: int = 1,
    parameters: dict[str, Any] | None = None,
    content_hash: str = "",
) -> ModelRater:
    """A model as a rater of the version's study."""
    rater = Rater.objects.create(study=version.prompt.study, name=name, kind=RaterKind.LLM)
    return ModelRater.objects.create(
        rater=rater,
        version=version,
        endpoint=endpoint,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=endpoint.model,
        response_format=endpoint.response_format,
        parameters={"max_tokens": endpoint.reply_tokens} if parameters is None else parameters,
        samples=samples,
        content_hash=content_hash or f"{rater.pk:064d}",
    )


def make_run(
    study: Study,
    endpoint: Endpoint | None = None,
    *,
    model_rater: ModelRater | None = None,
    use: Use = Use.SCALE,
    samples: int = 1,
    name: str = "model1",
    items: Iterable[Item] | None = None,
    state: str = RunState.READY,
    **fields: Any,
) -> Run:
    """A run with its calls in order: item by item, scale by scale, sample by sample.

    items: all of the study where not given. Model rater, version and endpoint are made where not given; `use`,
    `samples` and `name` are of those. The state is only written: nothing is checked.
    """
    if model_rater is None:
        endpoint = endpoint or make_endpoint()
        known = Prompt.objects.filter(study=study, name=f"Default {name}").first()
        version = known.versions.get(number=1) if known else make_version(study, use=use, name=f"Default {name}")
        model_rater = make_model_rater(version, endpoint, name=name, samples=samples)
    endpoint = endpoint or model_rater.endpoint
    run = Run.objects.create(study=study, model_rater=model_rater, endpoint=endpoint, state=state, **fields)
    chosen = items if items is not None else Item.objects.filter(block__study=study).order_by("block", "position")
    add_calls(run, chosen)
    return run


def add_calls(run: Run, items: Iterable[Item]) -> None:
    """The calls of a run about items, after those that are there."""
    version = run.model_rater.version
    by_scale = version.use == Use.SCALE.value
    calls = [
        Call(
            run=run,
            key=f"{item.pk}/{framework.slug}@{framework.version}/{dimension.slug if dimension else '-'}/{sample}",
            item=item,
            framework=framework,
            dimension=dimension,
            sample=sample,
            position=0,
        )
        for item in items
        for framework in version.frameworks.order_by("pk")
        for dimension in (framework.dimensions.order_by("position") if by_scale else [None])
        for sample in range(run.model_rater.samples)
    ]
    first = run.calls.count()
    for position, call in enumerate(calls, start=first):
        call.position = position
    Call.objects.bulk_create(calls)


def answer_all(
    run: Run,
    value: float | Callable[[Call, Dimension], float | None] = 3.0,
    *,
    rationale: str = "Because it is so.",
    rate: bool = True,
) -> None:
    """Every open call is answered as if a worker had been there, and the run is done. No network.

    value: the same for all, or by call and dimension; None is "cannot tell". Ratings are made of the first sample,
    unless `rate` is False or the run only checks.
    """
    now = timezone.now()
    for call in run.calls.exclude(state=CallState.DONE).select_related("dimension", "framework"):
        exchange = Exchange.objects.create(
            call=call,
            endpoint=run.endpoint,
            state=ExchangeState.ANSWERED,
            sent_at=now,
            ended_at=now,
            reply='{"rationale": "Because it is so.", "evidence": [], "score": "3"}',
            http_status=200,
            latency_ms=400,
            input_tokens=100,
            output_tokens=20,
            cost=run.endpoint.cost_of(100, 20),
        )
        dimensions = [call.dimension] if call.dimension else list(call.framework.dimensions.all())
        for dimension in dimensions:
            score = value(call, dimension) if callable(value) else value
            CallAnswer.objects.create(
                call=call, dimension=dimension, value=score, cannot_tell=score is None, rationale=rationale
            )
            if rate and call.sample == 0 and not run.is_check:
                Rating.objects.create(
                    item=call.item,
                    rater=run.model_rater.rater,
                    dimension=dimension,
                    value=score,
                    cannot_tell=score is None,
                    comment=rationale,
                )
        Call.objects.filter(pk=call.pk).update(state=CallState.DONE, attempts=1, finished_at=now, claim=exchange)
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE, started_at=now, finished_at=now)
    run.refresh_from_db()
