"""Keeps links that open doors out of the logs: invitations, crowd links, password resets."""

import logging
import re
from typing import Any

HIDDEN = "[hidden]"
# A slash may be written %2F: addresses come inside addresses, as in `?next=`.
SLASH = r"(?:/|%2F)"
SECRET = re.compile(
    rf"({SLASH}(?:invite|join){SLASH}|{SLASH}password{SLASH}reset{SLASH}[^/%\s]+{SLASH}(?!set-password))"
    r"""(?:[^/%\s"'?#&<>]|%(?!2F))+""",
    re.IGNORECASE,
)


def mask_secrets(text: str) -> str:
    """The text with every token of such a link replaced; the rest, and the name of the page, stays."""
    return SECRET.sub(rf"\1{HIDDEN}", text)


def masking_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """A log record whose message and arguments hold no such token."""
    record = logging.LogRecord(*args, **kwargs)
    try:
        text = record.getMessage()
    except (TypeError, ValueError, KeyError):
        return record  # the handler tells of a message that does not fit its arguments
    masked = mask_secrets(text)
    if masked != text:
        record.msg, record.args = masked, None
    return record


def mask_every_log() -> None:
    """From now on, in this process.

    By the factory of records, not by filters: those of a logger do not see what its children log (django.security.*),
    and those of a handler only what passes that handler (gunicorn's access log has its own).
    """
    logging.setLogRecordFactory(masking_record)
