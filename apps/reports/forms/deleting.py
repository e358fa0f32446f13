"""A report is deleted by typing its title."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _


class TypedTitleForm(forms.Form):
    """The title is typed, so that nothing irreversible happens by a slip."""

    confirm = forms.CharField(
        label=_("Title"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, title: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = title

    def clean_confirm(self) -> str:
        typed = " ".join(str(self.cleaned_data["confirm"]).split())
        if typed != self.title:
            raise ValidationError(_("This is not the title: %(title)s."), params={"title": self.title})
        return typed
