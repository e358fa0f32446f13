"""What of a run's calls is listed."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.llm.fault_words import FAULTS
from apps.llm.models import CallState, Run
from apps.llm.services.call_reading import Filter, scales_of


class CallFilterForm(forms.Form):
    state = forms.ChoiceField(label=_("State"), required=False, choices=[("", _("every state")), *CallState.choices])
    scale = forms.TypedChoiceField(label=_("Scale"), required=False, coerce=int, empty_value=None)
    fault = forms.ChoiceField(
        label=_("Fault of the reply"), required=False, choices=[("", _("with or without")), *FAULTS.items()]
    )
    q = forms.CharField(label=_("Conversation"), required=False, max_length=200, help_text=_("Part of its id"))

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scales = [(scale.pk, scale.label) for scale in scales_of(run)]
        self.fields["scale"].choices = [("", _("every scale")), *scales]  # type: ignore[attr-defined]

    @property
    def query(self) -> str:
        """What is chosen as the query of an address, "" where everything is. Of a form that was looked at."""
        return urlencode({name: value for name, value in self.cleaned_data.items() if value not in ("", None)})

    def chosen(self) -> Filter:
        """What is valid of it; a choice that is not there narrows nothing, and is named beside its field."""
        self.is_valid()
        found = self.cleaned_data
        return Filter(found.get("state", ""), found.get("scale"), found.get("fault", ""), found.get("q", ""))
