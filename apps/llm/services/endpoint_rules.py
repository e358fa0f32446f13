"""What an endpoint may say of its address, its key's variable and what it takes. Each rule gives "" or one sentence."""

import re

from django.utils.translation import gettext as _

from apps.common.lines import IN_ONE_LINE, has_hidden_characters
from apps.llm.addresses import address_of
from apps.llm.models import Endpoint, Provider
from apps.llm.providers.protocol import can_send

VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
# Settings of Accord and of what it runs on: some are secrets, none is a provider's key (docs/running.md).
TAKEN = frozenset(
    {
        "ALLOWED_HOSTS",
        "BASE_URL",
        "CI",
        "CSRF_TRUSTED_ORIGINS",
        "DEBUG",
        "DEFAULT_FROM_EMAIL",
        "HOME",
        "HOST",
        "PATH",
        "PORT",
        "PWD",
        "SECRET_KEY",
        "SHELL",
        "UPLOAD_MAX_BYTES",
        "USER",
    }
)
TAKEN_PREFIXES = (
    "ACCORD_",
    "CELERY_",
    "DATABASE_",
    "DJANGO_",
    "EMAIL_",
    "GUNICORN_",
    "LD_",
    "LLM_LEASE",
    "PG",
    "POSTGRES",
    "PYTHON",
    "REDIS",
    "SECRET_KEY",
    "WEB_CONCURRENCY",
)
# How keys of well-known providers begin.
KEY_BEGINNINGS = ("sk-", "AIza", "gsk_", "hf_", "xai-", "pplx-", "Bearer ")
LONGEST_WITHOUT_A_BREAK = 20
# What a name in an address ends with.
_BREAKS = re.compile(r"[/:;,=&@?#]")


def looks_like_a_key(text: str) -> bool:
    """Whether a text is more likely a key than a name: it is then neither stored nor shown."""
    return text.strip().startswith(KEY_BEGINNINGS)


def holds_a_key(url: str) -> bool:
    """Whether a part of an address looks like a key."""
    return any(looks_like_a_key(part) for part in _BREAKS.split(url))


def name_problem(text: str) -> str:
    """What is wrong with the name of an endpoint or of a model; the sentence never repeats it."""
    if looks_like_a_key(text):
        return _("This looks like a key. Give a name; what was typed is not kept.")
    if has_hidden_characters(text):
        return str(IN_ONE_LINE)
    return ""


def key_variable_problem(name: str) -> str:
    """What is wrong with the name of a variable; the sentence never repeats what was given. "" for an empty one."""
    if not name:
        return ""
    if not VARIABLE.fullmatch(name) or _is_one_long_word(name):
        return _(
            "Give the NAME of an environment variable, for example OPENAI_API_KEY: capital letters, digits and "
            "underscores. Never the key itself; what was typed is not kept."
        )
    if name in TAKEN or name.startswith(TAKEN_PREFIXES) or name.endswith("_PROXY"):
        return _("%(name)s is a variable of Accord or of the system. Give the key a variable of its own.") % {
            "name": name
        }
    return ""


def base_url_problem(url: str, *, key_variable: str) -> str:
    """What is wrong with an address; "" also for an empty one, which is the provider's own."""
    if not url:
        return ""
    if not re.match(r"https?://[^/]", url, re.IGNORECASE) or not _is_plain(url):
        return _("Give an address that begins with http:// or https://, for example http://127.0.0.1:8001/v1.")
    if has_secret_place(url):
        return _(
            "Give the address without a user name, a password, a query (?) or a fragment (#): a key belongs into an "
            "environment variable. What was typed is not kept."
        )
    if holds_a_key(url):
        return _(
            "A part of this address looks like a key. A key belongs into an environment variable. What was typed is "
            "not kept."
        )
    if url.split("/")[2].endswith(":"):
        return _("The address ends its host with a colon; give the port's number after it.")
    address = address_of(url)
    if address is None:
        return _("This is not an address; expected for example http://127.0.0.1:8001/v1.")
    if key_variable and address.scheme == "http" and not address.is_loopback:
        return _(
            "Over http:// the key would travel unprotected. Use https://, or leave the key's variable empty if the "
            "server needs none."
        )
    return ""


def capability_problem(provider: str, parameter: str) -> str:
    """Why an endpoint cannot claim to take the parameter (`temperature` or `seed`); "" where it can."""
    if can_send(provider, parameter):
        return ""
    sentences = {
        "temperature": _("%(provider)s's protocol has no temperature, so none is ever sent: leave this out."),
        "seed": _("%(provider)s's protocol has no seed, so none is ever sent: leave this out."),
    }
    return sentences[parameter] % {"provider": Provider(provider).label}


def has_secret_place(url: str) -> bool:
    """Whether an address has a part that could hold a secret."""
    return any(mark in url for mark in "@?#")


def is_unprotected(endpoint: Endpoint) -> bool:
    """Whether text travels in the open to another machine outside of a private network."""
    address = address_of(endpoint.base_url)
    return address is not None and address.scheme == "http" and not (address.is_loopback or address.is_private)


def _is_one_long_word(name: str) -> bool:
    """Long, with digits and without an underscore: how some providers' keys look."""
    return len(name) >= LONGEST_WITHOUT_A_BREAK and "_" not in name and any(sign.isdigit() for sign in name)


def _is_plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url and "\\" not in url
