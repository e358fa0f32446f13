"""Raters of the kind llm: a prompt version put to an endpoint with parameters and samples, each once in a study."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.lines import IN_ONE_LINE, has_hidden_characters
from apps.frameworks.models import Framework
from apps.frameworks.scales import FrameworkSpec
from apps.llm.answers import AllowedAnswers, framework_schema, scale_schema
from apps.llm.models import Endpoint, ModelRater, PromptExample, PromptVersion, ResponseFormat
from apps.llm.providers.protocol import Parameters
from apps.llm.services.prompting import leaked_items
from apps.llm.templates import Use
from apps.llm.versions import ExampleChoice, VersionContent
from apps.studies.models import ExclusionReason, Item, Rater, RaterKind, Study
from apps.studies.services.exclusions import exclude
from apps.studies.services.raters import RaterConflict, add_rater

HOTTEST = 2.0
MOST_SAMPLES = 25
# Each sample adds its number to it, and most servers take it as a signed number of 32 bits.
LARGEST_SEED = 2_000_000_000
LONGEST_NAME = 80
# What stands for the whole framework among schemas and in keys of calls.
WHOLE = "-"


class ModelRaterError(ValueError):
    """The rater cannot be made so: `field` names what is wrong, the message says why in a sentence."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@transaction.atomic
def ensure_model_rater(
    *,
    version: PromptVersion,
    endpoint: Endpoint,
    temperature: float | None = None,
    seed: int | None = None,
    samples: int = 1,
    name: str = "",
    by: User | None,
) -> ModelRater:
    """The rater of the version's study that is exactly this; made where there is none, else the one that is there.

    What is in the prompt as an example is excluded for it, and what says the same, as far as it is there by now. A
    name is only asked of a new one. Raises ModelRaterError.
    """
    parameters = checked_parameters(endpoint, temperature=temperature, seed=seed, samples=samples)
    study = Study.objects.select_for_update().get(pk=version.prompt.study_id)
    # The address and the model must be those that the hash is made of.
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    found = find_model_rater(version=version, endpoint=endpoint, parameters=parameters, samples=samples)
    if found is not None:
        _exclude_examples(found.rater, version, by)
        return found
    rater = _add_rater(study, version, endpoint, parameters, samples, name, by)
    model_rater = ModelRater.objects.create(
        rater=rater,
        version=version,
        endpoint=endpoint,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=endpoint.model,
        response_format=endpoint.response_format,
        parameters=parameters,
        samples=samples,
        content_hash=hash_of(version, endpoint, parameters, samples),
    )
    _exclude_examples(rater, version, by)
    return model_rater


def find_model_rater(
    *, version: PromptVersion, endpoint: Endpoint, parameters: Mapping[str, Any], samples: int
) -> ModelRater | None:
    """The rater of the version's study that is exactly this, if it is there. parameters: of `checked_parameters`."""
    known = model_raters_of(version.prompt.study).filter(content_hash=hash_of(version, endpoint, parameters, samples))
    return known.first()


def model_raters_of(study: Study) -> "QuerySet[ModelRater]":
    """Every model rater of the study, each with its rater, prompt version and endpoint."""
    return ModelRater.objects.filter(rater__study=study).select_related("rater", "version__prompt", "endpoint")


def checked_parameters(
    endpoint: Endpoint, *, temperature: float | None, seed: int | None, samples: int
) -> dict[str, Any]:
    """What is sent beside the messages. Raises ModelRaterError for what the endpoint does not take."""
    if not 1 <= samples <= MOST_SAMPLES:
        raise ModelRaterError("samples", _("Samples: from 1 to %(most)d.") % {"most": MOST_SAMPLES})
    if temperature is not None:
        if not endpoint.sends_temperature:
            raise ModelRaterError(
                "temperature", _("%(endpoint)s takes no temperature: leave it empty.") % {"endpoint": endpoint.name}
            )
        if not 0 <= temperature <= HOTTEST:
            raise ModelRaterError("temperature", _("Temperature: from 0 to %(most)g.") % {"most": HOTTEST})
    if seed is not None:
        if not endpoint.sends_seed:
            raise ModelRaterError(
                "seed", _("%(endpoint)s takes no seed: leave it empty.") % {"endpoint": endpoint.name}
            )
        if not 0 <= seed <= LARGEST_SEED:
            raise ModelRaterError("seed", _("Seed: from 0 to %(most)d.") % {"most": LARGEST_SEED})
    return Parameters(max_tokens=endpoint.reply_tokens, temperature=temperature, seed=seed).as_dict()


def sampling_doubt(*, temperature: float | None, seed: int | None, samples: int) -> str:
    """What speaks against asking several times with these parameters; "" where nothing does."""
    if samples <= 1:
        return ""
    if temperature == 0:
        return _("At temperature 0 most models answer the same each time: more samples cost more and show little.")
    if temperature is None and seed is None:
        return _("Neither a temperature nor a seed is sent, so how much the samples differ is left to the provider.")
    return ""


# --- What makes it this rater ---------------------------------------------------------------------------------------


def content_of(model_rater: ModelRater) -> list[VersionContent]:
    """All that the rater freezes, one content for each framework of its version."""
    return _contents(
        model_rater.version,
        provider=model_rater.provider,
        base_url=model_rater.base_url,
        model=model_rater.model,
        parameters=model_rater.parameters,
    )


def hash_of(version: PromptVersion, endpoint: Endpoint, parameters: Mapping[str, Any], samples: int) -> str:
    """SHA-256, 64 hexadecimal digits: the same wherever the same is asked of the same model in the same way."""
    contents = _contents(
        version,
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=endpoint.model,
        parameters=parameters,
    )
    parts = [sorted(content.content_hash for content in contents), endpoint.response_format, samples]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _contents(
    version: PromptVersion, *, provider: str, base_url: str, model: str, parameters: Mapping[str, Any]
) -> list[VersionContent]:
    examples = list(version.examples.select_related("dimension", "item__conversation").order_by("dimension_id", "pk"))
    frameworks = version.frameworks.order_by("slug", "version").with_scales()
    contents = []
    for framework in frameworks:
        spec = framework.as_spec()
        contents.append(
            VersionContent(
                template=version.template,
                framework=framework.slug,
                framework_version=framework.version,
                framework_hash=spec.content_hash,
                provider=provider,
                base_url=base_url,
                model=model,
                parameters=parameters,
                schemas=_schemas(spec, Use(version.use), cannot_tell=version.cannot_tell),
                examples=_choices(framework, examples),
                cannot_tell=version.cannot_tell,
                prompt_format=version.prompt_format,
            )
        )
    return contents


def _schemas(spec: FrameworkSpec, use: Use, *, cannot_tell: bool) -> dict[str, dict[str, Any]]:
    allowed = [AllowedAnswers.to_scale(dimension, cannot_tell=cannot_tell) for dimension in spec.dimensions]
    if use is Use.FRAMEWORK:
        return {WHOLE: framework_schema(allowed)}
    return {answers.slug: scale_schema(answers) for answers in allowed}


def _choices(framework: Framework, examples: Iterable[PromptExample]) -> tuple[ExampleChoice, ...]:
    """In the order in which prompts show them."""
    return tuple(
        ExampleChoice(
            example.dimension.slug,
            example.slot,
            example.item.conversation.external_id,
            example.item.conversation.content_hash,
            example.score,
        )
        for example in examples
        if example.dimension.framework_id == framework.pk
    )


# --- In words -------------------------------------------------------------------------------------------------------


def described(model_rater: ModelRater) -> list[tuple[str, str]]:
    """What the rater is, for pages: a label and a value each. Asks for its version, prompt and endpoint."""
    lines = [
        (_("Model"), model_rater.model),
        (_("Provider"), model_rater.get_provider_display()),
        (_("Address"), model_rater.base_url or _("the provider's own")),
        (_("Endpoint"), model_rater.endpoint.name),
        (_("Prompt"), str(model_rater.version)),
        (_("Asks for"), _use_words(model_rater.version)),
        (_("Form of the answer"), str(ResponseFormat(model_rater.response_format).label)),
        (_("Samples"), str(model_rater.samples)),
    ]
    sent = model_rater.parameters
    for parameter, label in (
        ("temperature", _("Temperature")),
        ("seed", _("Seed")),
        ("max_tokens", _("Longest answer, in tokens")),
    ):
        lines.append((label, _number(sent[parameter]) if parameter in sent else _("not sent")))
    return lines


def _use_words(version: PromptVersion) -> str:
    return _("one scale at a time") if Use(version.use) is Use.SCALE else _("a whole framework at once")


def _source(version: PromptVersion, endpoint: Endpoint, parameters: Mapping[str, Any], samples: int) -> str:
    """One line, kept in the database and shown in tables and exports: so it is in one language."""
    sent = ", ".join(f"{name} {_number(value)}" for name, value in parameters.items())
    words = f"{endpoint.model} ({endpoint.provider}), prompt {version}, one {version.use} a call, {sent}"
    return f"{words}, {samples} samples" if samples > 1 else words


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# --- Its row --------------------------------------------------------------------------------------------------------


def suggested_name(version: PromptVersion, endpoint: Endpoint, samples: int, taken: Iterable[str] = ()) -> str:
    """A name made of model, prompt and samples that is not taken; at most LONGEST_NAME characters."""
    model = endpoint.model.rstrip("/").rsplit("/", 1)[-1] or endpoint.name
    ending = f" v{version.number}" + (f" x{samples}" if samples > 1 else "")
    known = set(taken)
    number = 1
    while True:
        counted = ending + (f" ({number})" if number > 1 else "")
        room = LONGEST_NAME - len(counted)
        # The prompt is what tells the raters of one model apart, so the model gives way first.
        prompt = version.prompt.name[: room - 10]
        name = f"{model[: room - len(prompt) - 1]} {prompt}{counted}"
        if name not in known:
            return name
        number += 1


def _add_rater(
    study: Study,
    version: PromptVersion,
    endpoint: Endpoint,
    parameters: Mapping[str, Any],
    samples: int,
    name: str,
    by: User | None,
) -> Rater:
    given = checked_name(name)
    taken = [] if given else list(study.raters.values_list("name", flat=True))
    try:
        return add_rater(
            study=study,
            kind=RaterKind.LLM,
            name=given or suggested_name(version, endpoint, samples, taken),
            source=_source(version, endpoint, parameters, samples),
            actor=by,
        )
    except RaterConflict as conflict:
        raise ModelRaterError("name", f"{str(conflict)[:1].upper()}{str(conflict)[1:]}.") from conflict


def checked_name(name: str) -> str:
    """The name with its white space folded, "" for none. Raises ModelRaterError."""
    if has_hidden_characters(name.strip()):
        raise ModelRaterError("name", str(IN_ONE_LINE))
    name = " ".join(name.split())
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ModelRaterError(
            "name", _("Name of the rater: at most %(most)d characters that can be printed.") % {"most": LONGEST_NAME}
        )
    return name


def _exclude_examples(rater: Rater, version: PromptVersion, by: User | None) -> None:
    """Those that are not excluded so yet: items come with new blocks. What somebody took back stays taken back."""
    explanation = f"{version} shows this conversation as an example"
    made = Q(reason=ExclusionReason.LEAKAGE) | Q(reverted_at=None)
    leaked = leaked_items(version) - set(rater.exclusions.filter(made).values_list("item", flat=True))
    for item in Item.objects.filter(pk__in=leaked).select_related("block").order_by("pk"):
        exclude(rater=rater, item=item, reason=ExclusionReason.LEAKAGE, explanation=explanation, by=by)
