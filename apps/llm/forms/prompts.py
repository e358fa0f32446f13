"""What somebody writes of a prompt version."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from apps.common.lines import validate_one_line
from apps.corpus.parsing.records import text_fault
from apps.frameworks.models import Framework
from apps.llm.forms.prompt_examples import (
    BY_HAND,
    BY_LOT,
    MODES,
    MOST_CANDIDATES,
    NO_EXAMPLES,
    FrameworkRows,
    choice_fields,
    chosen_in,
    doubled,
    drawn_for,
    kept_in,
    rows_of,
)
from apps.llm.models import Prompt
from apps.llm.services.example_choice import Candidates, Choices
from apps.llm.services.prompting import LONGEST_NAME, LONGEST_NOTE, LONGEST_TEXT, NewVersion
from apps.llm.templates import PromptTemplate, Use
from apps.studies.models import Study

LARGEST_SEED = 2_147_483_647
LONGEST_NUMBER = 18  # digits that any database takes as a number of a row


class LinesField(forms.CharField):
    """A text as it was typed, its lines ended by line feeds alone, as a database can store it."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n").replace("\r", "\n")

    def validate(self, value: Any) -> None:
        super().validate(value)
        if fault := text_fault(value):
            raise ValidationError(__("This %(fault)s.") % {"fault": fault})


class LineField(LinesField):
    """A text in one line. Spaces in a row are one."""

    def to_python(self, value: Any) -> str:
        text = super().to_python(value)
        validate_one_line(text)
        return " ".join(text.split())


class OfferedFrameworksField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Of a number beyond what a database counts to, it says that it is no choice, as of any other that is none."""

    def clean(self, value: Any) -> Any:
        for given in value or ():
            if len(str(given)) > LONGEST_NUMBER:
                raise ValidationError(
                    self.error_messages["invalid_choice"],
                    code="invalid_choice",
                    params={"value": f"{str(given)[:LONGEST_NUMBER]}…"},
                )
        return super().clean(value)


class PromptForm(forms.Form):
    """A version to be. `candidates` may be empty as long as none is chosen from.

    is_first: the prompt gets its name, rather than a note on what changed. sees_examples: False for who rates, from
    whom medians are hidden.
    """

    name = LineField(
        label=_("Name"),
        max_length=LONGEST_NAME,
        help_text=_("Of the prompt, in lists. It stays the same through all versions."),
    )
    note = LineField(
        label=_("What changed"),
        required=False,
        max_length=LONGEST_NOTE,
        help_text=_("For the list of versions. No model reads it."),
    )
    system = LinesField(
        label=_("System message"),
        required=False,
        strip=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text=_("It may be empty: some models take none."),
    )
    user = LinesField(
        label=_("User message"),
        strip=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false"}),
        help_text=_("The conversation and the examples may stand here only."),
    )
    frameworks = OfferedFrameworksField(
        label=_("Frameworks"),
        queryset=Framework.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("What models are asked for. Once a version uses them, they can no longer change."),
    )
    cannot_tell = forms.BooleanField(
        label=_("The model may answer that it cannot tell"),
        required=False,
        help_text=_("Then “cannot_tell” stands among the allowed scores."),
    )
    examples = forms.ChoiceField(label=_("Which ones"), choices=MODES, widget=forms.RadioSelect)
    seed = forms.IntegerField(
        label=_("Seed of the lot"),
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text=_("It decides among conversations that are equally near. Any number will do."),
    )

    def __init__(
        self,
        data: QueryDict | None,
        *,
        study: Study,
        use: Use,
        frameworks: Sequence[Framework],
        candidates: Candidates,
        sees_examples: bool,
        is_first: bool,
        initial: Mapping[str, Any],
    ) -> None:
        super().__init__(data, initial=dict(initial))
        self.study, self.use, self.candidates = study, use, candidates
        self.all_frameworks = {framework.pk: framework for framework in frameworks}
        offered = Framework.objects.filter(pk__in=self.all_frameworks).order_by("name", "version")
        self.fields["frameworks"].queryset = offered  # type: ignore[attr-defined]
        del self.fields["note" if is_first else "name"]
        if not sees_examples:
            del self.fields["examples"], self.fields["seed"]
        elif self.mode == BY_HAND:
            kept = kept_in(data, candidates) if data is not None else initial.get("choices", {})
            self.fields |= choice_fields(candidates, kept)

    @property
    def mode(self) -> str:
        """How examples are chosen, as the form stands."""
        return str(self["examples"].value()) if "examples" in self.fields else NO_EXAMPLES

    @property
    def example_groups(self) -> list[FrameworkRows]:
        """The lists to choose from by hand; empty otherwise."""
        return rows_of(self, self.candidates, self.all_frameworks) if self.mode == BY_HAND else []

    @property
    def most_candidates(self) -> int:
        """How many stand in a list, where some scale has more; else 0."""
        rows = [row for group in self.example_groups for row in group.rows]
        return MOST_CANDIDATES if any(row.n_candidates > MOST_CANDIDATES for row in rows) else 0

    @property
    def seed_or_usual(self) -> int:
        seed = self.cleaned_data.get("seed")
        return self.study.seed if seed is None else int(seed)

    def drawn(self) -> Choices:
        """By lot, for the frameworks that are ticked. Of a form that was checked."""
        return drawn_for(self.candidates, self.cleaned_data.get("frameworks", ()), self.seed_or_usual)

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if Prompt.objects.filter(study=self.study, name=name).exists():
            raise ValidationError(
                _("The study has a prompt of this name. Choose another name, or make a new version of that prompt.")
            )
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        template = PromptTemplate(self.use, cleaned.get("system", ""), cleaned.get("user", ""))
        for field, problems in (("system", template.system_problems()), ("user", template.user_problems())):
            for problem in problems if field in cleaned else ():
                self.add_error(field, problem)
        choices = self._choices()
        cleaned["choices"] = choices
        if choices and "user" in self.cleaned_data and "examples" not in template.names:
            self.add_error("user", _("Examples are chosen, and the message has no {{examples}} to show them."))
        return cleaned

    def _choices(self) -> Choices:
        """The examples; adds an error for those that cannot be shown."""
        if "examples" not in self.cleaned_data or self.mode == NO_EXAMPLES or "frameworks" not in self.cleaned_data:
            return {}
        frameworks = self.cleaned_data["frameworks"]
        by_lot = self.mode == BY_LOT
        choices = self.drawn() if by_lot else chosen_in(self.cleaned_data, self.candidates, frameworks)
        for name in doubled(choices):
            self.add_error(name, _("This conversation is chosen for the scale already."))
        if not choices:
            self.add_error("examples", self._nothing_chosen())
        return choices

    def _nothing_chosen(self) -> str:
        if not any(self.candidates.medians.values()):
            return __("No conversation has an expert median that is a point of a scale, so none can be shown.")
        return __("No example is chosen. Choose some below, or choose “None”.")

    def new_version(self) -> NewVersion:
        """Of a form that is valid."""
        given = self.cleaned_data
        choices: Choices = given["choices"]
        # Looked through by hand and left as the lot drew them, they are the lot's all the same.
        is_by_lot = bool(choices) and choices == self.drawn()
        return NewVersion(
            use=self.use,
            system=given["system"],
            user=given["user"],
            frameworks=tuple(given["frameworks"]),
            cannot_tell=given["cannot_tell"],
            examples=choices,
            example_seed=self.seed_or_usual if is_by_lot else None,
            note=given.get("note", ""),
        )


class TypedVersionForm(forms.Form):
    """Name and number are typed, so that nothing is deleted by a slip."""

    confirm = forms.CharField(
        label=_("Version"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, version: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.version = version

    def clean_confirm(self) -> str:
        typed = " ".join(str(self.cleaned_data["confirm"]).split())
        if typed != self.version:
            raise ValidationError(_("This is not the version: %(version)s."), params={"version": self.version})
        return typed
