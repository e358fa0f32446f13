"""A run is cancelled for good by typing which one it is."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from apps.llm.models import Run


class TypedRunForm(forms.Form):
    """`Run 12` is typed, in any case, so that nothing irreversible happens by a slip."""

    confirm = forms.CharField(
        label=_("Run"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, run: Run) -> None:
        super().__init__(data, auto_id="cancel_%s")
        self.name = __("Run %(number)s") % {"number": run.pk}
        self.fields["confirm"].help_text = __("Type %(name)s to confirm.") % {"name": self.name}

    def clean_confirm(self) -> str:
        typed = " ".join(str(self.cleaned_data["confirm"]).split())
        if typed.casefold() != self.name.casefold():
            raise ValidationError(_("This is not the run: %(name)s."), params={"name": self.name})
        return typed
