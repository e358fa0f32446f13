"""The search on a dataset's page."""

from django import forms
from django.utils.translation import gettext_lazy as _


class ConversationSearchForm(forms.Form):
    q = forms.CharField(
        label=_("Find by id or title"),
        required=False,
        max_length=255,
        # An id may begin or end with a space; it is searched as it is typed.
        strip=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
