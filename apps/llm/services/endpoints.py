"""Endpoints are set up, changed, retired and brought back. Of a key nothing is known here but whether it is there."""

import os
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.llm.models import Endpoint, Provider
from apps.llm.providers.protocol import Target, can_send
from apps.llm.services.endpoint_rules import base_url_problem, capability_problem, key_variable_problem, name_problem

# What makes an endpoint another rater. Once a model rater uses it, this stays.
IDENTITY = ("provider", "base_url", "model", "response_format")
# What an estimate and a confirmation are for, beside that.
PRICES = ("price_input", "price_output", "currency")
# What an endpoint says that it takes: field -> parameter of a request.
CLAIMS = {"takes_temperature": "temperature", "takes_seed": "seed"}
CHANGEABLE = (
    "name",
    *IDENTITY,
    "key_variable",
    "max_tokens_name",
    "takes_temperature",
    "takes_seed",
    "reply_tokens",
    "context_tokens",
    "price_input",
    "price_output",
    "currency",
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout_seconds",
)


class EndpointError(ValueError):
    """The endpoint cannot be changed so: `field` names the field, the message says why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def target_of(endpoint: Endpoint) -> Target:
    """What a provider has to know of the endpoint."""
    return Target(
        provider=endpoint.provider,
        base_url=endpoint.base_url,
        model=endpoint.model,
        key_variable=endpoint.key_variable,
        response_format=endpoint.response_format,
        max_tokens_name=endpoint.max_tokens_name,
        timeout_seconds=endpoint.timeout_seconds,
    )


def key_is_set(endpoint: Endpoint) -> bool:
    """Whether this process knows the endpoint's key; True where none is needed. A worker may know others."""
    return not endpoint.key_variable or bool(os.environ.get(endpoint.key_variable, "").strip())


def identity_is_fixed(endpoint: Endpoint) -> bool:
    """Whether a model rater or a run uses it, so that what makes it another rater stays.

    A run of a rater that is there already may be put to another endpoint which is just the same.
    """
    return endpoint.model_raters.exists() or endpoint.runs.exists()


def facts_of(endpoint: Endpoint) -> tuple[Any, ...]:
    """What somebody has seen of it who goes by an estimate, or confirms that text may be sent there."""
    return tuple(getattr(endpoint, name) for name in (*IDENTITY, *PRICES))


def currency_is_fixed(endpoint: Endpoint) -> bool:
    """Whether a run was made with it: costs and budgets are kept as numbers, so the currency they are in stays."""
    return endpoint.runs.exists() or endpoint.exchanges.exists()


@transaction.atomic
def create_endpoint(*, by: User | None, **values: Any) -> Endpoint:
    """A new endpoint with fields of CHANGEABLE. Raises EndpointError for an address or variable that may not be."""
    _check_names(values)
    values = _no_claims_of(values.get("provider", Provider.OPENAI)) | values
    _check_rules(Endpoint(**values))
    _check_claims(Endpoint(**values), CLAIMS)
    endpoint = Endpoint.objects.create(created_by=by, **values)
    details = {name: _plain(getattr(endpoint, name)) for name in CHANGEABLE if name != "name"}
    _remember(endpoint, "create", by, details)
    return endpoint


@transaction.atomic
def update_endpoint(*, endpoint: Endpoint, by: User | None, **values: Any) -> Endpoint:
    """Set fields of CHANGEABLE; what changed is remembered, if anything did.

    Where the address changes, the studies' leave to send text there ends: it was given for another address.
    Raises EndpointError where the identity of an endpoint in use would change, or a rule is broken.
    """
    _check_names(values)
    # Waits also for whoever is just making a rater that refers to it.
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    if values.get("provider", endpoint.provider) != endpoint.provider:
        values = _no_claims_of(values["provider"]) | values
    before = {name: getattr(endpoint, name) for name in values}
    changed = [name for name in CHANGEABLE if name in values and before[name] != values[name]]
    if not changed:
        return endpoint
    for name in changed:
        if name in IDENTITY and identity_is_fixed(endpoint):
            raise EndpointError(name, _("A rater uses this endpoint, so this stays. Set up another endpoint instead."))
    if "currency" in changed and currency_is_fixed(endpoint):
        raise EndpointError(
            "currency",
            _("Runs have costs in %(currency)s, so the currency stays. Set up another endpoint for another one.")
            % {"currency": endpoint.currency},
        )
    details: dict[str, Any] = {name: [_plain(before[name]), _plain(values[name])] for name in changed}
    for name in changed:
        setattr(endpoint, name, values[name])
    _check_rules(endpoint)
    # A row of before that claims too much may still change its price.
    _check_claims(endpoint, [name for name in CLAIMS if name in changed or "provider" in changed])
    endpoint.save(update_fields=[*changed, "updated_at"])
    if {"provider", "base_url"} & set(changed):
        ended = endpoint.text_consents.all().delete()[0]
        if ended:
            details["text_consents_ended"] = ended
    _remember(endpoint, "change", by, details)
    return endpoint


def retire_endpoint(*, endpoint: Endpoint, by: User | None) -> None:
    """No new runs from now on; those that are there go on. A second time changes nothing."""
    _set_retired(endpoint, is_retired=True, by=by)


def return_endpoint(*, endpoint: Endpoint, by: User | None) -> None:
    """New runs may be put to it again. A second time changes nothing."""
    _set_retired(endpoint, is_retired=False, by=by)


@transaction.atomic
def _set_retired(endpoint: Endpoint, *, is_retired: bool, by: User | None) -> None:
    row = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    if (row.retired_at is not None) == is_retired:
        return
    row.retired_at = timezone.now() if is_retired else None
    row.save(update_fields=["retired_at", "updated_at"])
    _remember(row, "retire" if is_retired else "return", by, {})


def _check_names(values: dict[str, Any]) -> None:
    if unknown := values.keys() - set(CHANGEABLE):
        raise TypeError(f"not to be set here: {', '.join(sorted(unknown))}")


def _check_rules(endpoint: Endpoint) -> None:
    """Whoever fills the fields, no key is kept in them and none is sent in the open."""
    for field in ("name", "model"):
        if problem := name_problem(getattr(endpoint, field)):
            raise EndpointError(field, problem)
    if problem := key_variable_problem(endpoint.key_variable):
        raise EndpointError("key_variable", problem)
    if problem := base_url_problem(endpoint.base_url, key_variable=endpoint.key_variable):
        raise EndpointError("base_url", problem)


def _no_claims_of(provider: str) -> dict[str, bool]:
    """What an endpoint of the provider does not take, unless somebody says that it does."""
    return {name: False for name, parameter in CLAIMS.items() if not can_send(provider, parameter)}


def _check_claims(endpoint: Endpoint, names: Iterable[str]) -> None:
    """No parameter may tell raters apart that no request ever holds."""
    for name in names:
        if getattr(endpoint, name) and (problem := capability_problem(endpoint.provider, CLAIMS[name])):
            raise EndpointError(name, problem)


def _remember(endpoint: Endpoint, verb: str, by: User | None, details: dict[str, Any]) -> None:
    AuditEntry.objects.create(actor=by, action=f"endpoint.{verb}", subject=endpoint.name, details=details)


def _plain(value: Any) -> Any:
    """As JSON has it: prices are decimals."""
    return value if value is None or isinstance(value, bool | int | str) else str(value)
