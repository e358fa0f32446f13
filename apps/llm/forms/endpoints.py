"""What an admin types to set up an endpoint. A key that was typed by mistake is neither kept nor shown."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

from apps.common.reserved import validate_not_reserved
from apps.llm.models import Endpoint, MaxTokensName, Provider, ResponseFormat
from apps.llm.services.endpoint_lists import price_text
from apps.llm.services.endpoint_rules import (
    base_url_problem,
    capability_problem,
    has_secret_place,
    holds_a_key,
    key_variable_problem,
    looks_like_a_key,
    name_problem,
)
from apps.llm.services.endpoints import CHANGEABLE, CLAIMS, IDENTITY

LARGEST = 2_000_000_000
PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}


class PlainText(forms.TextInput):
    """Names and addresses, which no browser mends or remembers."""

    def __init__(self) -> None:
        super().__init__(attrs=dict(PLAIN))


class PriceField(forms.DecimalField):
    """For a million tokens; empty: not known."""

    def __init__(self, label: Any) -> None:
        super().__init__(
            label=label,
            required=False,
            min_value=0,
            max_digits=12,
            decimal_places=6,
            widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
        )


class EndpointForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        widget=PlainText(),
        validators=[
            RegexValidator(r"\A[a-z0-9][a-z0-9_-]*\Z", _("Give small letters, digits and hyphens only.")),
            validate_not_reserved,
        ],
        help_text=_("As it is called in lists and commands: small letters, digits and hyphens. For example gpt-small."),
    )
    provider = forms.ChoiceField(label=_("Protocol"), choices=Provider.choices)
    base_url = forms.CharField(
        label=_("Base URL"),
        required=False,
        max_length=500,
        widget=PlainText(),
        help_text=_(
            "Empty: the provider's own. Texts and the key are sent here. OpenAI's protocol: with the version, for "
            "example http://127.0.0.1:8001/v1. Anthropic and Google: up to the version, which is added; one that "
            "stands at the end is left out."
        ),
    )
    model = forms.CharField(
        label=_("Model"), max_length=200, widget=PlainText(), help_text=_("As the server calls it, to the letter.")
    )
    key_variable = forms.CharField(
        label=_("Environment variable that holds the key"),
        required=False,
        # A key that is longer must come to its own sentence, rather than to one about the length.
        max_length=10_000,
        widget=PlainText(),
        help_text=_("Its NAME, for example OPENAI_API_KEY; empty: no key is needed. Never the key itself."),
    )
    response_format = forms.ChoiceField(
        label=_("How the form of the answer is asked for"),
        choices=ResponseFormat.choices,
        help_text=_("What comes back is read just as strictly in each case."),
    )
    reply_tokens = forms.IntegerField(
        label=_("Tokens of an answer, at most"),
        min_value=1,
        max_value=LARGEST,
        help_text=_("Models that think aloud need more: their thoughts count."),
    )
    max_tokens_name = forms.ChoiceField(
        label=_("What the server calls this limit"),
        choices=MaxTokensName.choices,
        help_text=_("OpenAI's newer models know only the longer name."),
    )
    context_tokens = forms.IntegerField(
        label=_("Tokens of prompt and answer together, at most"),
        required=False,
        min_value=1,
        max_value=LARGEST,
        help_text=_("The model's context. Empty: not known. A conversation that does not fit is never cut."),
    )
    takes_temperature = forms.BooleanField(label=_("Takes a temperature"), required=False)
    takes_seed = forms.BooleanField(label=_("Takes a seed"), required=False)
    max_concurrent = forms.IntegerField(
        label=_("Requests at the same time"),
        min_value=1,
        max_value=500,
        help_text=_("Of all workers and all studies together."),
    )
    requests_per_minute = forms.IntegerField(
        label=_("Requests a minute"), required=False, min_value=1, max_value=LARGEST, help_text=_("Empty: no limit.")
    )
    tokens_per_minute = forms.IntegerField(
        label=_("Tokens a minute"), required=False, min_value=1, max_value=LARGEST, help_text=_("Empty: no limit.")
    )
    timeout_seconds = forms.IntegerField(
        label=_("Seconds to wait for an answer"), min_value=1, max_value=3600, help_text=_("Then it is tried again.")
    )
    price_input = PriceField(_("A million tokens of prompts"))
    price_output = PriceField(_("A million tokens of answers"))
    currency = forms.CharField(
        label=_("Currency"),
        max_length=3,
        widget=PlainText(),
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", _("Give three capital letters, for example USD."))],
    )

    # The sections of the page.
    IDENTITY_FIELDS = ("name", "provider", "base_url", "model", "key_variable")
    ASKING_FIELDS = (
        "response_format",
        "reply_tokens",
        "max_tokens_name",
        "context_tokens",
        "takes_temperature",
        "takes_seed",
    )
    LIMIT_FIELDS = ("max_concurrent", "requests_per_minute", "tokens_per_minute", "timeout_seconds")
    PRICES = ("price_input", "price_output")
    PRICE_FIELDS = (*PRICES, "currency")

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        initial: dict[str, Any],
        endpoint: Endpoint | None = None,
        is_fixed: bool = False,
        is_currency_fixed: bool = False,
    ) -> None:
        """endpoint: the one that is edited. is_fixed: what makes it another rater stays; is_currency_fixed: runs have
        costs in it."""
        super().__init__(data, initial=initial)
        self.endpoint = endpoint
        for name in IDENTITY if is_fixed else ():
            self.fields[name].disabled = True
        if is_currency_fixed:
            self.fields["currency"].disabled = True
            self.fields["currency"].help_text = _("Runs have costs in this currency, so it stays. Prices may change.")

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        self._check_name("name", name)
        others = Endpoint.objects.filter(name=name)
        if self.endpoint is not None:
            others = others.exclude(pk=self.endpoint.pk)
        if others.exists():
            raise ValidationError(_("Another endpoint is called %(name)s already."), params={"name": name})
        return name

    def clean_model(self) -> str:
        model = str(self.cleaned_data["model"])
        self._check_name("model", model)
        return model

    def clean_key_variable(self) -> str:
        name = str(self.cleaned_data["key_variable"])
        if problem := key_variable_problem(name):
            self._forget("key_variable")
            raise ValidationError(problem)
        return name

    def clean_base_url(self) -> str:
        url = str(self.cleaned_data["base_url"])
        url = url if has_secret_place(url) else url.rstrip("/")
        if problem := base_url_problem(url, key_variable=""):
            if has_secret_place(url) or holds_a_key(url):
                self._forget("base_url")
            raise ValidationError(problem)
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if {"base_url", "key_variable"} <= cleaned.keys() and (
            problem := base_url_problem(cleaned["base_url"], key_variable=cleaned["key_variable"])
        ):
            self.add_error("key_variable" if self.fields["base_url"].disabled else "base_url", problem)
        if {"price_input", "price_output"} <= cleaned.keys():
            self._check_prices(cleaned)
        for name, parameter in CLAIMS.items():
            if cleaned.get(name) and (problem := capability_problem(cleaned.get("provider", ""), parameter)):
                self.add_error(name, problem)
        reply, context = cleaned.get("reply_tokens"), cleaned.get("context_tokens")
        if reply and context and reply >= context:
            self.add_error("context_tokens", _("Prompt and answer together need more than the answer alone may have."))
        return cleaned

    def section(self, names: tuple[str, ...]) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def sections(self) -> dict[str, list[forms.BoundField]]:
        return {
            "identity": self.section(self.IDENTITY_FIELDS),
            "asking": self.section(self.ASKING_FIELDS),
            "limits": self.section(self.LIMIT_FIELDS),
            "prices": self.section(self.PRICE_FIELDS),
        }

    def _check_name(self, field: str, text: str) -> None:
        if problem := name_problem(text):
            if looks_like_a_key(text):
                self._forget(field)
            raise ValidationError(problem)

    def _check_prices(self, cleaned: dict[str, Any]) -> None:
        for name, other in (self.PRICES, self.PRICES[::-1]):
            if cleaned[name] is None and cleaned[other] is not None:
                self.add_error(name, _("Give both prices, or neither: half a cost would be a wrong one."))

    def _forget(self, name: str) -> None:
        """What was typed may be a key: the page that comes back shows what was stored before, or nothing."""
        self.data = {**dict(self.data.items()), name: getattr(self.endpoint, name) if self.endpoint else ""}


def initial_of(endpoint: Endpoint) -> dict[str, Any]:
    """What the form begins with for an endpoint."""
    initial = {name: getattr(endpoint, name) for name in CHANGEABLE}
    return initial | {name: price_text(initial[name]) or None for name in EndpointForm.PRICES}


def initial_from(query: Mapping[str, str]) -> dict[str, Any]:
    """A new endpoint as the model has it, with what an address gives of it. What could hold a key is left out."""
    initial = initial_of(Endpoint())
    for name in CHANGEABLE:
        if name not in query:
            continue
        given = query[name].strip()[:500]
        field = EndpointForm.base_fields[name]
        if isinstance(field, forms.BooleanField):
            initial[name] = given == "on"
        elif _may_be_shown(name, given):
            initial[name] = given
    return initial


def _may_be_shown(name: str, given: str) -> bool:
    if name == "key_variable":
        return not key_variable_problem(given)
    if name == "base_url":
        return not base_url_problem(given, key_variable="")
    return not looks_like_a_key(given)
