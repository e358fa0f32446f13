"""How many items a model is asked about again."""

from django import forms
from django.utils.translation import gettext_lazy as _


class ReversedForm(forms.Form):
    n_items = forms.IntegerField(
        label=_("Items to ask about again"),
        min_value=1,
        max_value=100_000,
        help_text=_(
            "Drawn by lot from the main items answered that the checks use; where there are fewer, all of them."
        ),
    )
