"""Leave to send a study's text to the endpoint of a run that is there already."""

from django import forms
from django.utils.translation import gettext_lazy as _


class LeaveForm(forms.Form):
    confirm = forms.BooleanField(label=_("The text of this study may be sent there"))
