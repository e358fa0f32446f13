"""Prompts of a study and their versions: made, compared by content, deleted while nobody uses them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from django.db import transaction
from django.db.models import ProtectedError, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.lines import IN_ONE_LINE, has_hidden_characters
from apps.common.models import AuditEntry
from apps.corpus.parsing.records import text_fault
from apps.frameworks.models import Framework
from apps.frameworks.services.freezing import freeze_frameworks
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.examples import SLOTS, Slot
from apps.llm.models import ModelRater, Prompt, PromptExample, PromptVersion
from apps.llm.prompts import PROMPT_FORMAT
from apps.llm.services.example_choice import Candidates, candidates_of
from apps.llm.services.same_text import items_like
from apps.llm.templates import PromptTemplate, TemplateError, Use
from apps.studies.models import Study

LONGEST_NAME = 60
LONGEST_TEXT = 50_000
LONGEST_NOTE = 200

# dimension -> slot -> item
ExampleItems = Mapping[int, Mapping[Slot, int]]


class PromptingError(ValueError):
    """The version cannot be made or deleted; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What a version is to say. examples: dimension -> slot -> item; their scores are the medians as they are now.

    example_seed: the seed that drew them, None where none did. Neither it nor the note makes another version.
    """

    use: Use
    system: str
    user: str
    frameworks: tuple[Framework, ...]
    cannot_tell: bool = True
    examples: ExampleItems = field(default_factory=dict)
    example_seed: int | None = None
    note: str = ""

    @property
    def template(self) -> PromptTemplate:
        return PromptTemplate(self.use, self.system, self.user)


@dataclass(frozen=True, slots=True)
class _Content:
    """What makes a version another one."""

    template: PromptTemplate
    framework_ids: frozenset[int]
    cannot_tell: bool
    prompt_format: int
    examples: frozenset[tuple[int, str, int, float]]  # dimension, slot, item, score


@transaction.atomic
def create_version(*, study: Study, name: str, new: NewVersion, by: User | None) -> PromptVersion:
    """The next version of the study's prompt of that name, which is made where there is none.

    Where the newest version says the same already, that one. Its frameworks are frozen. Raises TemplateError for a
    template that cannot be used, PromptingError for anything else, one sentence each.
    """
    name = " ".join(name.split())
    new = replace(new, system=_lines_of(new.system), user=_lines_of(new.user), note=" ".join(new.note.split()))
    _check_texts(name, new)
    new.template.check()
    _check_frameworks(study, new.frameworks)
    examples = _checked_examples(study, new)
    prompt, _made = Prompt.objects.get_or_create(study=study, name=name)
    Prompt.objects.select_for_update().get(pk=prompt.pk)
    newest = prompt.versions.order_by("-number").first()
    if newest is not None and _content_of(newest) == _content_of_new(new, examples):
        return newest
    version = PromptVersion.objects.create(
        prompt=prompt,
        number=newest.number + 1 if newest else 1,
        use=new.use.value,
        system=new.system,
        user=new.user,
        cannot_tell=new.cannot_tell,
        example_seed=new.example_seed if examples else None,
        prompt_format=PROMPT_FORMAT,
        note=new.note,
        created_by=by,
    )
    version.frameworks.set(new.frameworks)
    for example in examples:
        example.version = version
    PromptExample.objects.bulk_create(examples)
    freeze_frameworks(framework_ids=[framework.pk for framework in new.frameworks])
    _remember("prompt.version", version, by)
    return version


def default_version(*, study: Study, use: Use = Use.SCALE, by: User | None) -> PromptVersion:
    """The study's newest version for that use; where it has none, one made of the default template, for every
    framework of the study and without examples. Raises PromptingError for a study without frameworks.
    """
    newest = versions_of(study).filter(use=use.value).order_by("-created_at", "-pk").first()
    if newest is not None:
        return newest
    template = DEFAULT_TEMPLATES[use]
    new = NewVersion(use, template.system, template.user, tuple(frameworks_of(study)))
    return create_version(study=study, name=default_name(use), new=new, by=by)


def default_name(use: Use) -> str:
    """What a prompt from the default template is called. Kept in the database, so in one language."""
    return {Use.SCALE: "Default, one scale", Use.FRAMEWORK: "Default, whole framework"}[use]


@transaction.atomic
def delete_version(*, version: PromptVersion, by: User) -> None:
    """Deletes a version that no rater uses, and its prompt with the last one. Raises PromptingError for others."""
    prompt = Prompt.objects.select_for_update().get(pk=version.prompt_id)
    if ModelRater.objects.filter(version=version).exists():
        raise PromptingError(_("%(version)s is a rater of the study and stays.") % {"version": version})
    _remember("prompt.delete_version", version, by)
    try:
        version.delete()
    except ProtectedError as error:
        raise PromptingError(_("%(version)s is a rater of the study and stays.") % {"version": version}) from error
    if not prompt.versions.exists():
        prompt.delete()


# --- Read -----------------------------------------------------------------------------------------------------------


def frameworks_of(study: Study) -> list[Framework]:
    """The frameworks of the study's blocks, in the order of blocks and screens, each once. One query."""
    rows = Framework.objects.filter(block_frameworks__block__study=study)
    ordered = rows.order_by("block_frameworks__block__position", "block_frameworks__position")
    return list({framework.pk: framework for framework in ordered}.values())


def versions_of(study: Study) -> QuerySet[PromptVersion]:
    """Every prompt version of the study."""
    return PromptVersion.objects.filter(prompt__study=study).select_related("prompt", "created_by")


def leaked_items(version: PromptVersion) -> set[int]:
    """Every item of the study whose conversation the version shows as an example, or one that says the same.

    What a rater of the version says of these proves nothing: it has seen what the experts say. One query more than
    `items_like`.
    """
    shown = version.examples.order_by().values_list("item__conversation", flat=True).distinct()
    return items_like(version.prompt.study_id, set(shown))


# --- Checked --------------------------------------------------------------------------------------------------------


def _lines_of(text: str) -> str:
    """Browsers send lines that end in CR LF: the same text is the same version, wherever it comes from."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_texts(name: str, new: NewVersion) -> None:
    if not name:
        raise PromptingError(_("A prompt has a name."))
    texts = ((_("name"), name, LONGEST_NAME), (_("note"), new.note, LONGEST_NOTE))
    messages = ((_("system message"), new.system, LONGEST_TEXT), (_("user message"), new.user, LONGEST_TEXT))
    for label, text, longest in (*texts, *messages):
        if len(text) > longest:
            known = {"label": label, "most": f"{longest:,}", "n": f"{len(text):,}"}
            raise PromptingError(_("The %(label)s has at most %(most)s characters, and this has %(n)s.") % known)
        if fault := text_fault(text):
            raise PromptingError(_("The %(label)s %(fault)s.") % {"label": label, "fault": fault})
    if has_hidden_characters(name) or has_hidden_characters(new.note):
        raise PromptingError(str(IN_ONE_LINE))


def _check_frameworks(study: Study, frameworks: Collection[Framework]) -> None:
    if not frameworks:
        raise PromptingError(_("A prompt version asks for at least one framework of the study."))
    own = {framework.pk for framework in frameworks_of(study)}
    for framework in frameworks:
        if framework.pk not in own:
            raise PromptingError(_("No block of the study uses %(framework)s.") % {"framework": framework})


def _checked_examples(study: Study, new: NewVersion) -> list[PromptExample]:
    """The rows, without their version, in the order of scales and slots."""
    if not any(new.examples.values()):
        return []
    if "examples" not in new.template.names:
        raise TemplateError("Examples are given, and the template has no {{examples}} to show them.")
    candidates = candidates_of(study=study, frameworks=new.frameworks)
    scales = {dimension.pk: dimension.label for dimension in candidates.dimensions}
    if any(dimension_id not in scales for dimension_id in new.examples):
        raise PromptingError(_("An example is chosen for a scale that the version does not ask for."))
    return [
        example
        for dimension_id, label in scales.items()
        for example in _examples_for(candidates, dimension_id, label, new.examples.get(dimension_id, {}))
    ]


def _examples_for(
    candidates: Candidates, dimension_id: int, label: str, chosen: Mapping[Slot, int]
) -> list[PromptExample]:
    medians = candidates.of(dimension_id)
    if not set(chosen) <= set(SLOTS) or not set(chosen.values()) <= set(medians):
        raise PromptingError(
            _("On %(scale)s, an example is chosen that has no text or no expert median that is a point.")
            % {"scale": label}
        )
    if len({*chosen.values()}) < len(chosen):
        raise PromptingError(_("On %(scale)s, one conversation is chosen for two examples.") % {"scale": label})
    return [
        PromptExample(dimension_id=dimension_id, item_id=chosen[slot], slot=slot, score=medians[chosen[slot]])
        for slot in SLOTS
        if slot in chosen
    ]


def _content_of(version: PromptVersion) -> _Content:
    return _Content(
        version.template,
        frozenset(version.frameworks.values_list("pk", flat=True)),
        version.cannot_tell,
        version.prompt_format,
        frozenset(version.examples.values_list("dimension_id", "slot", "item_id", "score")),
    )


def _content_of_new(new: NewVersion, examples: Collection[PromptExample]) -> _Content:
    return _Content(
        new.template,
        frozenset(framework.pk for framework in new.frameworks),
        new.cannot_tell,
        PROMPT_FORMAT,
        frozenset((example.dimension_id, example.slot, example.item_id, example.score) for example in examples),
    )


def _remember(action: str, version: PromptVersion, by: User | None) -> None:
    AuditEntry.objects.create(
        actor=by,
        action=action,
        subject=f"{version.prompt.study.slug}/{version}",
        details={"prompt": version.prompt_id, "version": version.pk, "number": version.number, "use": version.use},
    )
