"""What somebody chooses of a new run: who is asked and how, about what, and for how much."""

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.frameworks.models import Framework
from apps.llm.models import Endpoint, PromptVersion
from apps.llm.services.consent import leave_problem, needs_consent
from apps.llm.services.endpoint_lists import place_of
from apps.llm.services.endpoints import facts_of
from apps.llm.services.making_runs import RunOrder
from apps.llm.services.model_raters import HOTTEST, LARGEST_SEED, LONGEST_NAME, MOST_SAMPLES
from apps.llm.services.planning import MOST_CALLS, RunSelection, budget_problem
from apps.llm.services.prompting import frameworks_of, versions_of
from apps.llm.templates import Use
from apps.studies.models import Block, Item, ItemRole, Study

USES = {Use.SCALE: _("one scale at a time"), Use.FRAMEWORK: _("a whole framework at once")}
# In place of a version: Accord's own prompt, which is made a version of the study with the run.
OWN = "own-"
# What the digest of the choices leaves out: they change nothing of what was estimated.
NOT_ESTIMATED = ("confirm", "seen", "name")


def _ticks() -> forms.CheckboxSelectMultiple:
    return forms.CheckboxSelectMultiple()


class RunForm(forms.Form):
    endpoint = forms.ChoiceField(label=_("Endpoint"), help_text=_("The model that is asked, and where it answers."))
    version = forms.ChoiceField(label=_("Prompt"))
    samples = forms.IntegerField(
        label=_("Samples"),
        min_value=1,
        max_value=MOST_SAMPLES,
        initial=1,
        help_text=_(
            "How often each question is asked, from 1 to %(most)d. The score is the median of the answers, or the most "
            "frequent one where points have no order."
        )
        % {"most": MOST_SAMPLES},
    )
    temperature = forms.FloatField(
        label=_("Temperature"),
        required=False,
        min_value=0,
        max_value=HOTTEST,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text=_("From 0 to %(most)g, where the endpoint takes one. Empty: not sent, so left to the provider.")
        % {"most": HOTTEST},
    )
    seed = forms.IntegerField(
        label=_("Seed of the model"),
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text=_("A whole number, where the endpoint takes one. Empty: not sent."),
    )
    name = forms.CharField(
        label=_("Name of the rater"),
        required=False,
        max_length=LONGEST_NAME,
        help_text=_("As tables and exports call it. Empty: made of model and prompt."),
    )
    blocks = forms.MultipleChoiceField(
        label=_("Blocks"), required=False, widget=_ticks(), help_text=_("Without a tick, all of them.")
    )
    frameworks = forms.MultipleChoiceField(
        label=_("Frameworks"),
        required=False,
        widget=_ticks(),
        help_text=_("Without a tick, all that the prompt asks about."),
    )
    roles = forms.MultipleChoiceField(label=_("Items"), widget=_ticks(), initial=[ItemRole.MAIN.value])
    sample_size = forms.IntegerField(
        label=_("How many conversations"),
        required=False,
        min_value=1,
        max_value=MOST_CALLS,
        help_text=_("Drawn by lot. Empty: all of them."),
    )
    lot = forms.IntegerField(
        label=_("Seed of the lot"),
        min_value=0,
        max_value=LARGEST_SEED,
        help_text=_("The same seed draws the same conversations for every model; a larger sample holds the smaller."),
    )
    with_examples = forms.BooleanField(
        label=_("Ask about the conversations that the prompt shows as examples too"),
        required=False,
        help_text=_("What it says of them is left out of every statistic all the same."),
    )
    budget = forms.DecimalField(
        label=_("Budget"),
        required=False,
        max_digits=12,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
        help_text=_(
            "In the currency of the endpoint's prices. The run pauses before a request that would go beyond it, as far "
            "as estimates are right: they may be a third too low. Empty: no limit."
        ),
    )
    confirm = forms.BooleanField(label=_("The text of this study may be sent there"), required=False)
    # Which choices the estimate on the page was made for, and what the endpoint was then.
    seen = forms.CharField(required=False, max_length=130, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None, *, study: Study, initial: Mapping[str, str]) -> None:
        self.study = study
        self.endpoints = {str(one.pk): one for one in Endpoint.objects.in_use()}
        self.versions = {str(one.pk): one for one in _in_order(study)}
        first = {
            "endpoint": next(iter(self.endpoints), ""),
            "version": next(iter(self.versions), f"{OWN}{Use.SCALE}"),
            "lot": study.seed,
        }
        super().__init__(data, initial={**first, **initial})
        blocks, frameworks = list(study.blocks.order_by("position")), frameworks_of(study)
        roles = set(Item.objects.filter(block__study=study).order_by().values_list("role", flat=True).distinct())
        self._offer("endpoint", [(pk, _endpoint_label(one)) for pk, one in self.endpoints.items()])
        self._offer("version", self._version_choices())
        self._offer("blocks", [(str(block.pk), block.title) for block in blocks])
        self._offer("frameworks", [(str(framework.pk), str(framework)) for framework in frameworks])
        self._offer("roles", [(role.value, role.label) for role in ItemRole if role in roles or role == ItemRole.MAIN])
        self._narrow(blocks, frameworks, roles)

    def _narrow(self, blocks: Sequence[Block], frameworks: Sequence[Framework], roles: set[str]) -> None:
        """What leaves no choice is not asked."""
        if len(blocks) < 2:
            del self.fields["blocks"]
        if len(frameworks) < 2:
            del self.fields["frameworks"]
        if not roles - {ItemRole.MAIN}:
            del self.fields["roles"]

    def _version_choices(self) -> list[tuple[str, Any]]:
        used = {version.use for version in self.versions.values()}
        own = [
            (f"{OWN}{use}", _("Accord's own prompt, %(use)s") % {"use": words})
            for use, words in USES.items()
            if use not in used
        ]
        stored = [(pk, f"{version}, {USES[Use(version.use)]}") for pk, version in self.versions.items()]
        return [*stored, *own]

    def _offer(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = list(choices)

    # --- What was chosen ----------------------------------------------------------------------------------------

    @property
    def shown_endpoint(self) -> Endpoint | None:
        """The endpoint as the form stands, whether or not it is valid."""
        return self.endpoints.get(str(self["endpoint"].value()))

    @property
    def needs_confirmation(self) -> bool:
        endpoint = self.shown_endpoint
        return endpoint is not None and needs_consent(study=self.study, endpoint=endpoint)

    @property
    def place(self) -> str:
        """Where the text would go."""
        return place_of(self.shown_endpoint) if self.shown_endpoint else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        endpoint = self.endpoints.get(cleaned.get("endpoint", ""))
        if endpoint is None:
            return cleaned
        if self.study.local_only and (problem := leave_problem(study=self.study, endpoint=endpoint)):
            self.add_error("endpoint", problem)
        if problem := budget_problem(endpoint, cleaned.get("budget")):
            self.add_error("budget", problem)
        if cleaned.get("confirm") and _seen_parts(cleaned)[1] != _digest(facts_of(endpoint)):
            self._untick(cleaned)
        self._check_frameworks(cleaned)
        return cleaned

    def _untick(self, cleaned: dict[str, Any]) -> None:
        """The tick was for another place, or the same one at another price: the page asks for it anew."""
        cleaned["confirm"] = False
        data = cast(QueryDict, self.data).copy()
        data.pop("confirm", None)
        self.data = data

    def _check_frameworks(self, cleaned: Mapping[str, Any]) -> None:
        version, chosen = self.versions.get(cleaned.get("version", "")), cleaned.get("frameworks", [])
        if version is None or not chosen:
            return
        known = {str(pk) for pk in version.frameworks.values_list("pk", flat=True)}
        if set(chosen) - known:
            self.add_error(
                "frameworks",
                ValidationError(
                    _("%(prompt)s does not ask about each of these: leave out the others, or choose another prompt.")
                    % {"prompt": version}
                ),
            )

    def check_confirmed(self) -> None:
        """Adds an error where text would leave and nobody has said that it may. The form is valid so far."""
        if self.needs_confirmation and not self.cleaned_data["confirm"]:
            self.add_error("confirm", _("Confirm that the text may be sent there, or choose another endpoint."))

    @property
    def digest(self) -> str:
        """Tells the choices that an estimate is made for, and their endpoint as it is, from others. Of a valid form."""
        chosen = sorted((name, str(value)) for name, value in self.cleaned_data.items() if name not in NOT_ESTIMATED)
        return f"{_digest(chosen)}-{_digest(facts_of(self.endpoints[self.cleaned_data['endpoint']]))}"

    @property
    def was_estimated(self) -> bool:
        """Whether the estimate that the person has seen is that of these choices."""
        return str(self.cleaned_data["seen"]) == self.digest

    @property
    def has_other_endpoint(self) -> bool:
        """Whether the choices are those that were estimated, and the endpoint itself was changed since."""
        return not self.was_estimated and _seen_parts(self.cleaned_data)[0] == self.digest.partition("-")[0]

    @property
    def order(self) -> RunOrder:
        """Of a valid form."""
        chosen = self.cleaned_data
        version: PromptVersion | Use | None = self.versions.get(chosen["version"])
        budget: Decimal | None = chosen["budget"]
        return RunOrder(
            endpoint=self.endpoints[chosen["endpoint"]],
            version=version or Use(chosen["version"].removeprefix(OWN)),
            temperature=chosen["temperature"],
            seed=chosen["seed"],
            samples=chosen["samples"],
            name=chosen["name"],
            selection=RunSelection(
                blocks=tuple(map(int, chosen.get("blocks", ()))),
                frameworks=tuple(map(int, chosen.get("frameworks", ()))),
                roles=tuple(chosen.get("roles", (ItemRole.MAIN.value,))),
                sample_size=chosen["sample_size"],
                seed=chosen["lot"],
                with_examples=chosen["with_examples"],
            ),
            budget=budget,
            confirms=chosen["confirm"],
        )


def _digest(given: Sequence[Any]) -> str:
    return hashlib.sha256(repr(given).encode()).hexdigest()


def _seen_parts(cleaned: Mapping[str, Any]) -> tuple[str, str]:
    """The digests of choices and of their endpoint for which the page's estimate was made."""
    choices, _hyphen, endpoint = str(cleaned.get("seen", "")).partition("-")
    return choices, endpoint


def _in_order(study: Study) -> list[PromptVersion]:
    """The newest version of all first, then by prompt. Without their texts, which may be long, and are many."""
    rows = list(versions_of(study).defer("system", "user").order_by("prompt__name", "-number"))
    newest = max(rows, key=lambda version: (version.created_at, version.pk), default=None)
    return sorted(rows, key=lambda version: version is not newest)


def _endpoint_label(endpoint: Endpoint) -> str:
    return f"{endpoint.name}: {endpoint.model} ({place_of(endpoint)})"
