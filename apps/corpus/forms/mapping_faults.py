"""Why a mapping cannot be used, in the words of the page on which it is made."""

from django.utils.translation import gettext as _

from apps.corpus.field_labels import quoted_labels
from apps.corpus.parsing.mapping import SHAPE_FIELDS, MappingError, Shape, listed
from apps.corpus.parsing.records import FileError


def fault_on_page(error: FileError | None) -> str:
    """The sentence for a page, "" where there is no error. What only a mapping can be wrong about is put anew."""
    if error is None:
        return ""
    if not isinstance(error, MappingError):
        return str(error)
    if error.absent:
        return _("The file has no column %(columns)s.") % {"columns": listed(error.absent)}
    if error.clashing:
        return _clash(error)
    if error.shape is None:
        return _no_text(needs_id="id" in error.missing)
    sentence = _("No column means %(fields)s yet: choose it in the table of columns.") % {
        "fields": quoted_labels(error.missing)
    }
    if error.shape is Shape.TURNS:
        sentence += " " + _("A number of the turn is optional: without it, the order of the rows counts.")
    return sentence


def _clash(error: MappingError) -> str:
    fields = quoted_labels(error.clashing)
    if error.shape is Shape.NO_TEXT:
        return _("A file without text has no column that means %(fields)s.") % {"fields": fields}
    return _("%(fields)s do not go together. Choose %(ways)s.") % {"fields": fields, "ways": _ways()}


def _no_text(*, needs_id: bool) -> str:
    if needs_id:
        return _("No column means the text yet. Choose “Conversation id”, and %(ways)s.") % {"ways": _ways()}
    return _("No column means the text yet. Choose %(ways)s.") % {"ways": _ways()}


def _ways() -> str:
    return _("either %(turns)s, or %(posts)s, or %(transcript)s, or %(messages)s") % {
        "turns": quoted_labels(("speaker", "text")),
        "posts": quoted_labels(SHAPE_FIELDS[Shape.POST_REPLY]),
        "transcript": quoted_labels(SHAPE_FIELDS[Shape.TRANSCRIPT]),
        "messages": quoted_labels(SHAPE_FIELDS[Shape.MESSAGES]),
    }
