"""What stands at the top of the check page of a file of ratings: the one thing to do next, with links to where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.forms import Form
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.annotation.forms.uploads import RatingMappingForm, RatingReadingForm
from apps.annotation.services.uploads import RatingCheck

NAMES_SHOWN = 10
PROBLEMS = "problems"
SKIP = "id_skip_problem_rows"
KIND = "id_kind"


@dataclass(frozen=True)
class Line:
    """One sentence, and the id of the element it is about; "" where there is none."""

    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Summary:
    """`tone`: error (nothing goes on before it is settled), warning, or success (it can be imported)."""

    tone: str
    title: str
    lines: Sequence[Line] = field(default_factory=tuple)

    @property
    def is_urgent(self) -> bool:
        return self.tone != "success"


def summary_of_answers(reading: RatingReadingForm, mapping: RatingMappingForm | None) -> Summary:
    """Why what was posted changed nothing."""
    lines = [line for form in (reading, mapping) if form is not None for line in _faults(form)]
    title = ngettext(
        "Nothing was changed: one answer is missing or wrong",
        "Nothing was changed: %(count)d answers are missing or wrong",
        len(lines),
    )
    return Summary("error", title % {"count": len(lines)}, lines)


def summary_of_check(check: RatingCheck, mapping: RatingMappingForm | None) -> Summary:
    """How the file stands, as it was last said to be read."""
    if check.questions:
        lines = [Line(one.text, _anchor(mapping, one.field)) for one in check.questions]
        return Summary("error", _("Say what the columns mean"), lines)
    if check.fault:
        return Summary("error", _("The file cannot be read like this"), [Line(check.fault), *_encoding(check)])
    if check.kindless:
        title = _("New to the study: %(names)s") % {"names": names_in_short(check.kindless)}
        return Summary("warning", title, [Line(_("Say which kind of raters they are"), KIND), *_problems(check)])
    if not check.may_be_imported:
        title = _("The file holds no rating that could be stored")
        return Summary("error", title, _problems(check))
    if check.parsed and check.parsed.problems.total:
        return Summary("warning", _rows_with_problems(check), _problems(check))
    return Summary("success", _("It can be imported"))


def summary_of_refusal(check: RatingCheck, mapping: RatingMappingForm | None, fault: str) -> Summary:
    """Why the import did not begin. `fault`: what has nothing to do with the file, else ""."""
    if fault:
        return Summary("error", _("Nothing was imported"), [Line(fault)])
    found = summary_of_check(check, mapping)
    title = _("Nothing was imported. %(why)s") % {"why": found.title}
    tick = []
    if check.may_be_imported and not check.kindless and not check.fault:
        tick = [Line(_("Tick that the rows with problems are left out, or mend the file and upload it again"), SKIP)]
    return Summary("error", title, [*tick, *found.lines])


def names_in_short(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown, more = ", ".join(names[:NAMES_SHOWN]), len(names) - NAMES_SHOWN
    return shown if more <= 0 else _("%(names)s and %(count)d more") % {"names": shown, "count": more}


def _faults(form: Form) -> Iterator[Line]:
    for name, errors in form.errors.items():
        for error in errors:
            if name in form.fields:
                bound = form[name]
                yield Line(f"{bound.label}: {error}", bound.id_for_label)
            else:
                yield Line(str(error))


def _anchor(mapping: RatingMappingForm | None, name: str) -> str:
    bound = mapping.field_for(name) if mapping is not None else None
    return bound.id_for_label if bound is not None else ""


def _encoding(check: RatingCheck) -> list[Line]:
    if not check.likely:
        return []
    text = _("Below, the encoding %(encoding)s is chosen: check again with it, or choose another.")
    return [Line(text % {"encoding": check.likely}, "id_encoding")]


def _problems(check: RatingCheck) -> list[Line]:
    total = check.parsed.problems.total if check.parsed else 0
    if not total:
        return []
    return [Line(ngettext("See the problem", "See the %(count)d problems", total) % {"count": total}, PROBLEMS)]


def _rows_with_problems(check: RatingCheck) -> str:
    rows = check.parsed.bad_rows if check.parsed else 0
    return ngettext("%(count)d row has problems", "%(count)d rows have problems", rows) % {"count": rows}
