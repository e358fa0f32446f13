"""Which provider answers for a target. SDKs are loaded when first asked for, two of them only if installed. Pure."""

import os
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import NamedTuple, cast

from apps.llm.addresses import address_of
from apps.llm.providers.protocol import ErrorKind, Provider, ProviderError, Target

KEPT_CLIENTS = 32


class _Sdk(NamedTuple):
    name: str  # as people call it
    package: str  # what has to be installed
    needs: str  # the module that must be there
    module: str
    class_name: str


_SDKS = {
    "openai": _Sdk("OpenAI", "openai", "openai", "apps.llm.providers.openai_provider", "OpenAIProvider"),
    "anthropic": _Sdk(
        "Anthropic", "anthropic", "anthropic", "apps.llm.providers.anthropic_provider", "AnthropicProvider"
    ),
    "google": _Sdk("Google", "google-genai", "google.genai", "apps.llm.providers.google_provider", "GoogleProvider"),
}
_lock = Lock()


def provider_for(target: Target) -> Provider:
    """The provider of a target, with its key as the environment has it now. The same target has the same client.

    Raises ProviderError: SETUP where a package is missing or the provider unknown, KEY where the variable holds none.
    """
    key = key_of(target.key_variable)
    with _lock:  # so that threads that start at once do not make a client each
        return _made(target, key)


def is_installed(provider: str) -> bool:
    """Whether the provider's package is there. It is not loaded for that."""
    sdk = _SDKS.get(provider)
    if sdk is None:
        return False
    try:
        return find_spec(sdk.needs) is not None
    except ModuleNotFoundError:  # google, where google.genai was asked for
        return False


def key_of(variable: str) -> str:
    """The key that an environment variable holds; '' if no variable is named. Raises ProviderError(KEY)."""
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        # Which variable it is, is for admins: what is said here is kept, and read by whoever works with a study.
        raise ProviderError(ErrorKind.KEY, "The endpoint's key is not set where the workers run.")
    if not (key.isascii() and key.isprintable()):
        raise ProviderError(
            ErrorKind.KEY,
            "What is set as the endpoint's key holds characters that no key has, such as a line break.",
        )
    return key


def _check_address(target: Target, key: str) -> None:
    """Whoever filled the row: nothing is sent to what is no address, and no key in the open."""
    if not target.base_url:
        return
    address = address_of(target.base_url)
    if address is None:
        raise ProviderError(ErrorKind.SETUP, "The base URL of the endpoint is no address. Set up another endpoint.")
    if key and address.scheme == "http" and not address.is_loopback:
        raise ProviderError(
            ErrorKind.SETUP, "Over http:// the key would travel unprotected, so nothing is sent. Use https://."
        )


@lru_cache(maxsize=KEPT_CLIENTS)
def _made(target: Target, key: str) -> Provider:
    sdk = _SDKS.get(target.provider)
    if sdk is None:
        raise ProviderError(ErrorKind.SETUP, f"Unknown provider “{target.provider}”: known are {', '.join(_SDKS)}.")
    _check_address(target, key)
    if not is_installed(target.provider):
        raise ProviderError(
            ErrorKind.SETUP,
            f"Models of {sdk.name} need the package {sdk.package}. Install it where the workers run: "
            ".venv/bin/pip install -r requirements-llm.txt",
        )
    try:
        make = getattr(import_module(sdk.module), sdk.class_name)
        return cast(Provider, make(target, key))
    except Exception as error:
        # Its class only: its words may hold the key.
        raise ProviderError(
            ErrorKind.SETUP, f"The package {sdk.package} could not be used for this endpoint ({type(error).__name__})."
        ) from None
