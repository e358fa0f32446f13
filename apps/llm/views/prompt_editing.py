"""What the pages share on which a prompt version is written: the form as it stands, and what is shown beside it."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import reverse

from apps.accounts.access import PersonRequest
from apps.frameworks.models import Framework
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.forms.prompt_examples import BY_HAND, BY_LOT, NO_EXAMPLES, NOTHING_OFFERED, drawn_for, with_choices
from apps.llm.forms.prompt_preview import PreviewForm
from apps.llm.forms.prompts import PromptForm
from apps.llm.models import Prompt, PromptExample, PromptVersion
from apps.llm.services.example_choice import Candidates, Choices, candidates_of, dimensions_of
from apps.llm.services.prompt_preview import Draft
from apps.llm.services.prompting import default_name, frameworks_of
from apps.llm.services.same_text import items_like
from apps.llm.templates import PLACEHOLDERS, REQUIRED, Use
from apps.studies.models import Item, Study
from apps.studies.services.blindness import may_see_ratings

DRAW = "draw"


@dataclass(frozen=True, slots=True)
class Editor:
    """A version that is being written: a first one from the default template, or one from `base`.

    sees_examples: whether the person may see medians. n_gone: examples of the base that can no longer be shown.
    """

    study: Study
    use: Use
    base: PromptVersion | None
    frameworks: list[Framework]
    candidates: Candidates
    sees_examples: bool
    form: PromptForm
    n_gone: int

    @property
    def address(self) -> str:
        """Where the form is saved."""
        if self.base is not None:
            return reverse("llm:prompt-edit", args=[self.study.slug, self.base.pk])
        return f"{reverse('llm:prompt-new', args=[self.study.slug])}?use={self.use}"

    def context(self) -> dict[str, Any]:
        """Of the page, less what is previewed."""
        return {
            "study": self.study,
            "is_managed": True,
            "editor": self,
            "base": self.base,
            "use": self.use,
            "form": self.form,
            "sees_examples": self.sees_examples,
            "n_left_out": self.n_left_out(),
            "placeholders": [
                (f"{{{{{name}}}}}", meaning, name in REQUIRED[self.use])
                for name, meaning in PLACEHOLDERS[self.use].items()
            ],
        }

    def choices(self) -> Choices:
        """The examples, as the form stands."""
        given = self.form.cleaned_data.get("choices", {}) if self.form.is_bound else self.form.initial["choices"]
        return {
            dimension: known
            for dimension, slots in given.items()
            if (known := {slot: item for slot, item in slots.items() if item in self.candidates.items})
        }

    def n_left_out(self) -> int:
        """How many items of the study are spoilt for the raters of this version."""
        if self.form.is_bound:
            self.form.is_valid()
        return len(items_like(self.study.pk, self.candidates.conversations(self.choices())))

    def draft(self) -> Draft:
        """The version as the form has it, whose template, frameworks and examples are in order."""
        given, choices = self.form.cleaned_data, self.choices()
        items = Item.objects.select_related("conversation").in_bulk(
            {item for slots in choices.values() for item in slots.values()}
        )
        examples = [
            PromptExample(
                dimension_id=dimension, item=items[item], slot=slot, score=self.candidates.of(dimension)[item]
            )
            for dimension, slots in choices.items()
            for slot, item in slots.items()
        ]
        new = self.form.new_version()
        return Draft(new.template, list(given["frameworks"]), new.cannot_tell, examples)

    def preview_form(self, data: QueryDict | None) -> PreviewForm:
        dimensions = dimensions_of(self.frameworks)
        return PreviewForm(data, study=self.study, use=self.use, dimensions=dimensions, is_inside=True)


def editor_of(request: PersonRequest, study: Study, use: Use, base: PromptVersion | None) -> Editor:
    """The form as it was sent, or as it begins. The button that draws examples gives it back with them in it."""
    sees = may_see_ratings(user=request.user, study=study)
    frameworks = frameworks_of(study)
    data = request.POST if request.method == "POST" else None
    initial = _initial(study, use, base, frameworks, sees=sees)
    draws = sees and data is not None and data.get("act") == DRAW
    mode = str(data.get("examples", "")) if data is not None else initial["examples"]
    needed = sees and (draws or mode in (BY_LOT, BY_HAND))
    candidates = candidates_of(study=study, frameworks=frameworks) if needed else NOTHING_OFFERED

    def form_of(given: QueryDict | None) -> PromptForm:
        return PromptForm(
            given,
            study=study,
            use=use,
            frameworks=frameworks,
            candidates=candidates,
            sees_examples=sees,
            is_first=base is None,
            initial=initial,
        )

    form = form_of(data)
    if draws and data is not None:
        form.is_valid()
        ticked = form.cleaned_data.get("frameworks", frameworks)
        form = form_of(with_choices(data, drawn_for(candidates, ticked, form.seed_or_usual)))
    return Editor(study, use, base, frameworks, candidates, sees, form, _n_gone(initial["choices"], candidates, needed))


def _initial(
    study: Study, use: Use, base: PromptVersion | None, frameworks: list[Framework], *, sees: bool
) -> dict[str, Any]:
    if base is None:
        template = DEFAULT_TEMPLATES[use]
        name = default_name(use)
        is_taken = Prompt.objects.filter(study=study, name=name).exists()
        return {
            "name": "" if is_taken else name,
            "system": template.system,
            "user": template.user,
            "frameworks": [framework.pk for framework in frameworks],
            "cannot_tell": True,
            "examples": NO_EXAMPLES,
            "seed": study.seed,
            "choices": {},
        }
    choices: Choices = {}
    for example in base.examples.all() if sees else ():
        choices.setdefault(example.dimension_id, {})[example.slot] = example.item_id  # type: ignore[index]
    own = {framework.pk for framework in frameworks}
    return {
        "system": base.system,
        "user": base.user,
        "frameworks": [pk for pk in base.frameworks.values_list("pk", flat=True) if pk in own],
        "cannot_tell": base.cannot_tell,
        "examples": BY_HAND if choices else NO_EXAMPLES,
        "seed": study.seed if base.example_seed is None else base.example_seed,
        "choices": choices,
    }


def _n_gone(choices: Choices, candidates: Candidates, is_known: bool) -> int:
    if not is_known:
        return 0
    return sum(item not in candidates.of(one) for one, slots in choices.items() for item in slots.values())
