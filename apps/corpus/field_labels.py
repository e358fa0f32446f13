"""What pages call the fields of a mapping, in place of the names that commands know them by."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

FIELD_LABELS: dict[str, Any] = {
    "id": gettext_lazy("Conversation id"),
    "turn_index": gettext_lazy("Number of the turn"),
    "speaker": gettext_lazy("Speaker"),
    "text": gettext_lazy("Text of the turn"),
    "post": gettext_lazy("Post"),
    "reply": gettext_lazy("Reply"),
    "transcript": gettext_lazy("Whole transcript"),
    "messages": gettext_lazy("Chat messages"),
    "title": gettext_lazy("Title"),
    "language": gettext_lazy("Language"),
    "reference": gettext_lazy("Reference answer"),
    "belief": gettext_lazy("Belief the seeker states"),
    "pair": gettext_lazy("Pair"),
    "parent": gettext_lazy("Derived from"),
}
KINDS: dict[str, Any] = {
    "factor": gettext_lazy("Experimental condition"),
    "meta": gettext_lazy("Metadata"),
}


def field_label(field: str) -> str:
    """The label of a field, `factor.NAME` and `meta.NAME` included; another text stays as it is."""
    kind, dot, name = field.partition(".")
    if dot and kind in KINDS:
        return f"{KINDS[kind]} {name}"
    return str(FIELD_LABELS.get(field, field))


def quoted_labels(fields: tuple[str, ...]) -> str:
    """“Speaker” and “Text of the turn”."""
    named = [_("“%(field)s”") % {"field": field_label(field)} for field in fields]
    if len(named) < 2:
        return "".join(named)
    return _("%(fields)s and %(last)s") % {"fields": ", ".join(named[:-1]), "last": named[-1]}
