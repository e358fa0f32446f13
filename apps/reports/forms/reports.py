"""What somebody chooses of a report. As it stands, without a single choice made, it is the full report."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from apps.corpus.parsing.records import text_fault
from apps.measures.pairs import Convention
from apps.reliability.agreement import DEFAULT_RESAMPLES
from apps.reports.contents import DEFAULT_THRESHOLD, Part, Stars
from apps.reports.models import StoredReport
from apps.reports.plans import FULL_REPORT, MOST_RESAMPLES, ReportPlan
from apps.reports.services.choices import Choices
from apps.reports.services.requesting import PlanError, check_plan
from apps.reports.words import FORMATS, PARTS, STARS
from apps.studies.forms.blocks import field_of
from apps.studies.models import Study

LONGEST_TITLE = StoredReport._meta.get_field("title").max_length
CONVENTIONS = [
    (Convention.SCALE.value, _("By the points of the scale: distances are those that the scale declares")),
    (
        Convention.OBSERVED.value,
        _("By the values that occur: distances are those of their ranks, as in Kumar et al. 2026"),
    ),
]
# Parameters of the agreement pages that a report takes over, and those that say nothing of it.
TAKEN_OVER = {"block": "block", "framework": "framework", "convention": "convention", "threshold": "threshold"}
SEVERAL_TAKEN_OVER = {"group": "groups", "rater": "raters"}
NOT_OF_REPORTS = frozenset({"statistic", "repeats", "pairs", "page", "like"})


def _ticks() -> forms.CheckboxSelectMultiple:
    return forms.CheckboxSelectMultiple()


class ReportForm(forms.Form):
    title = forms.CharField(label=_("Title"), max_length=LONGEST_TITLE, help_text=_("It heads the report."))
    formats = forms.MultipleChoiceField(label=_("Files"), widget=_ticks())
    all_figures = forms.BooleanField(
        label=_("Figures of each scale and rater"),
        required=False,
        help_text=_(
            "How each scale is used, its raters two by two and point by point, and a profile of each rater, beside the "
            "figures of the whole study. This takes some minutes and makes the files larger."
        ),
    )
    convention = forms.ChoiceField(
        label=_("Weighted kappa"),
        choices=CONVENTIONS,
        initial=Convention.SCALE.value,
        widget=forms.RadioSelect,
    )
    threshold = forms.FloatField(
        label=_("Threshold"),
        min_value=0,
        max_value=1,
        initial=DEFAULT_THRESHOLD,
        help_text=_("Drawn as a line in the benchmark chart, from 0 to 1. It changes no number."),
    )
    stars = forms.ChoiceField(label=_("Stars"), choices=list(STARS.items()), initial=Stars.ADJUSTED.value)
    resamples = forms.IntegerField(
        label=_("Resamples for intervals"),
        min_value=0,
        max_value=MOST_RESAMPLES,
        initial=DEFAULT_RESAMPLES,
        help_text=_("From 0 (no intervals) to %(most)s. Any other number than %(usual)s is computed anew.")
        % {"most": MOST_RESAMPLES, "usual": DEFAULT_RESAMPLES},
    )
    block = forms.ChoiceField(label=_("Block"), required=False)
    framework = forms.ChoiceField(label=_("Framework"), required=False)
    parts = forms.MultipleChoiceField(label=_("Kinds of comparisons"), choices=list(PARTS.items()), widget=_ticks())
    groups = forms.MultipleChoiceField(label=_("Kinds of raters"), required=False, widget=_ticks())
    raters = forms.MultipleChoiceField(label=_("Raters"), required=False, widget=_ticks())
    with_excluded = forms.BooleanField(label=_("Ratings that are excluded take part all the same"), required=False)

    def __init__(self, data: QueryDict | None, *, study: Study, choices: Choices, initial: Mapping[str, Any]) -> None:
        usual = {"title": _usual_title(study), "formats": list(FULL_REPORT), "parts": list(Part)}
        super().__init__(data, initial={**usual, **initial})
        self.study = study
        self.traits = choices.traits
        self._offer("formats", [(one.value, _format_label(one.value)) for one in FORMATS])
        self._offer("block", [("", _("every block")), *choices.blocks])
        self._offer("framework", [("", _("every framework")), *choices.frameworks])
        self._offer("groups", choices.groups)
        self._offer("raters", choices.raters)
        chosen = initial.get("metadata", {})
        for trait in self.traits:
            if trait.is_listed:
                self.fields[field_of(trait)] = forms.MultipleChoiceField(
                    label=trait.label,
                    required=False,
                    choices=[(value, _value_label(value, n)) for value, n in trait.values],
                    initial=list(chosen.get(trait.name, ())),
                    widget=_ticks(),
                )

    @staticmethod
    def raters_asked(*given: QueryDict, like: StoredReport | None = None) -> list[str]:
        """Names in a form or an address, or in a report: these are offered whatever their kind."""
        named = [name for data in given for field in ("raters", "rater") for name in data.getlist(field)]
        return [*named, *(like.options["options"]["raters"] if like else [])]

    def _offer(self, name: str, choices: Sequence[tuple[Any, Any]]) -> None:
        cast(forms.ChoiceField, self.fields[name]).choices = list(choices)

    @property
    def trait_fields(self) -> list[forms.BoundField]:
        return [self[field_of(trait)] for trait in self.traits if field_of(trait) in self.fields]

    @property
    def unlisted_traits(self) -> list[str]:
        return [trait.label for trait in self.traits if field_of(trait) not in self.fields]

    @property
    def narrows(self) -> bool:
        """Whether some figures are left out, so that the choices are shown unfolded."""
        parts = self["parts"].value() or []
        is_part = any(self[name].value() for name in ("block", "framework", "groups", "raters"))
        return is_part or len(parts) < len(Part) or bool({"parts", "block", "framework", "raters"} & set(self.errors))

    @property
    def selects(self) -> bool:
        """Whether the ratings are chosen from."""
        return bool(self["with_excluded"].value()) or any(field.value() for field in self.trait_fields)

    def clean_title(self) -> str:
        title = " ".join(str(self.cleaned_data["title"]).split())
        if fault := text_fault(title):
            raise ValidationError(fault)
        return title

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                cleaned["plan"] = self._plan(cleaned)
                check_plan(study=self.study, plan=cleaned["plan"])
            except PlanError as problem:
                self.add_error(problem.field, str(problem))
            except ValueError as problem:
                self.add_error(None, str(problem))
        return cleaned

    def _plan(self, cleaned: Mapping[str, Any]) -> ReportPlan:
        metadata = {trait.name: cleaned.get(field_of(trait), []) for trait in self.traits}
        return ReportPlan.of_choices(cleaned, metadata)


def initial_of(report: StoredReport) -> dict[str, Any]:
    """The choices of a report that is there, for another like it."""
    plan = ReportPlan.from_dict(report.options)
    options = plan.options.as_dict()
    return {name: options[name] for name in options if name != "statistics"} | {
        "title": report.title,
        "resamples": plan.resamples,
        "metadata": dict(plan.selection.metadata),
        "with_excluded": plan.selection.with_excluded,
    }


def initial_from(query: QueryDict, choices: Choices) -> tuple[dict[str, Any], list[str]]:
    """The choices of an agreement page from its address, and a sentence for each that could not be taken over."""
    known: dict[str, Sequence[str]] = {
        "block": [value for value, _label in choices.blocks],
        "framework": [value for value, _label in choices.frameworks],
        "convention": list(Convention),
        "groups": [value for value, _label in choices.groups],
        "raters": [value for value, _label in choices.raters],
    }
    traits = {trait.name: [value for value, _n in trait.values] for trait in choices.traits if trait.is_listed}
    initial: dict[str, Any] = {"metadata": {}}
    faults = []
    for name, values in query.lists():
        if name in NOT_OF_REPORTS or (name not in traits and not any(values)):
            continue
        if name == "excluded":
            initial["with_excluded"] = values[-1] == "1"
        elif name == "threshold":
            initial["threshold"] = values[-1]
        elif name == "stars":
            initial["stars"] = (Stars.NONE if values[-1] == "0" else Stars.ADJUSTED).value
        elif name in TAKEN_OVER or name in SEVERAL_TAKEN_OVER:
            field = TAKEN_OVER.get(name) or SEVERAL_TAKEN_OVER[name]
            good = [value for value in values if value in known[field]]
            faults += [_not_known(name, value, known[field]) for value in values if value and value not in good]
            if good:
                initial[field] = good if name in SEVERAL_TAKEN_OVER else good[-1]
        elif name in traits:
            good = [value for value in values if value in traits[name]]
            faults += [_not_known(name, value, traits[name]) for value in values if value not in good]
            initial["metadata"][name] = good
        else:
            faults.append(__("%(name)s is nothing that a report can be narrowed by.") % {"name": name})
    return initial, faults


def _not_known(name: str, value: str, known: Sequence[str]) -> str:
    text = __("%(name)s is %(value)s in the address; expected one of %(known)s. It was left out.")
    shown = ", ".join([*known[:10], *(["…"] if len(known) > 10 else [])])
    return text % {"name": name, "value": value, "known": shown}


def _usual_title(study: Study) -> str:
    return (__("Agreement in %(study)s") % {"study": study.title})[:LONGEST_TITLE]


def _format_label(name: str) -> str:
    label, purpose = FORMATS[name]  # type: ignore[index]
    return format_html('<span>{} <span class="soft small">{}</span></span>', label, purpose)


def _value_label(value: str, n: int) -> str:
    return format_html('<span>{} <span class="soft small">{}</span></span>', value or __("no value"), n)
