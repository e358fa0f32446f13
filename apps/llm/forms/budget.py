"""Another budget for a run that is open."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.llm.models import Endpoint
from apps.llm.services.planning import budget_problem


class BudgetForm(forms.Form):
    budget = forms.DecimalField(
        label=_("Budget"),
        required=False,
        max_digits=12,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
        help_text=_("For the whole run, with what it has cost so far. Empty: no limit."),
    )

    def __init__(self, *args: Any, endpoint: Endpoint, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.endpoint = endpoint

    def clean_budget(self) -> Decimal | None:
        budget: Decimal | None = self.cleaned_data["budget"]
        if problem := budget_problem(self.endpoint, budget):
            raise forms.ValidationError(problem)
        return budget
