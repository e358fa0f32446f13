"""Why a rater leaves an item: the usual reasons, and words of their own."""

from django.utils.translation import gettext

OTHER = "other"
LONGEST_REASON = 2_000


class ReasonMissing(ValueError):  # noqa: N818 - reads as what happened
    """No reason was given, or none that can be kept; the message says what is asked for."""


def skip_reasons() -> list[tuple[str, str]]:
    """key -> words of the usual reasons; `other` asks for words of one's own."""
    return [
        ("unclear", gettext("I cannot make out what is said")),
        ("language", gettext("I do not know the language well enough")),
        ("distressing", gettext("I would rather not read this")),
        ("known", gettext("I know these people or this conversation")),
        ("broken", gettext("The text is broken or incomplete")),
        (OTHER, gettext("Another reason")),
    ]


def reason_given(*, key: str, words: str) -> str:
    """The reason as it is kept: the usual one, followed by the rater's words where there are any.

    Words alone are a reason. Raises ReasonMissing without either, or for words that cannot be stored.
    """
    words = words.strip()
    if "\x00" in words or len(words) > LONGEST_REASON:
        raise ReasonMissing(
            gettext("Say the reason in at most %(number)s plain characters.") % {"number": LONGEST_REASON}
        )
    usual = "" if key == OTHER else dict(skip_reasons()).get(key, "")
    reason = ": ".join(part for part in (usual, words) if part)
    if not reason:
        raise ReasonMissing(gettext("Say why you skip this conversation: choose a reason, or write one."))
    return reason
