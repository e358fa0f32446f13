"""What the columns of a file mean, as a form: a select for each column and for each speaker label."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _

from apps.corpus.field_labels import FIELD_LABELS, field_label
from apps.corpus.models import SpeakerRole
from apps.corpus.parsing.mapping import ABOUT_FIELDS, CONSTANT_FIELDS, FIELDS, NAMED_FIELDS, ColumnMapping
from apps.corpus.parsing.preview import SpeakerPreview
from apps.corpus.parsing.records import text_fault
from apps.corpus.parsing.speakers import KNOWN_LABELS, NOT_A_SPEAKER, normal

COLUMNS_SHOWN = 300
SPEAKERS_SHOWN = 100
NAMED_CONSTANTS = 3
# With all that is shown, a form stays below the 1,000 fields that Django takes.
MAX_NAMED_CONSTANTS = 30
NAME_LENGTH = 100
UNUSED = "unused"

MEANINGS: list[Any] = [
    ("", _("None of these")),
    ("id", FIELD_LABELS["id"]),
    (_("One row per turn"), [(name, FIELD_LABELS[name]) for name in ("turn_index", "speaker", "text")]),
    (_("A post and its reply"), [(name, FIELD_LABELS[name]) for name in ("post", "reply")]),
    (_("A whole conversation in a cell"), [(name, FIELD_LABELS[name]) for name in ("transcript", "messages")]),
    (
        _("About the conversation"),
        [*((name, FIELD_LABELS[name]) for name in ABOUT_FIELDS), ("factor", _("Experimental condition"))],
    ),
    (_("Anything else"), [("meta", _("Keep as metadata")), (UNUSED, _("Leave out"))]),
]
ROLE_CHOICES = [
    ("", _("Not known yet: choose")),
    (SpeakerRole.SEEKER, SpeakerRole.SEEKER.label),
    (SpeakerRole.SUPPORTER, SpeakerRole.SUPPORTER.label),
    (SpeakerRole.SYSTEM, _("System, not shown to raters")),
    (SpeakerRole.OTHER, SpeakerRole.OTHER.label),
    (NOT_A_SPEAKER, _("No speaker: part of the text")),
]
KNOWN_ROLES = {normal(label): str(role) for role, labels in KNOWN_LABELS.items() for label in labels}


@dataclass(frozen=True)
class ColumnRow:
    header: str
    meaning: BoundField
    name: BoundField


@dataclass(frozen=True)
class SpeakerRow:
    label: str
    count: int | None
    label_field: BoundField
    role: BoundField


def headers_mark(headers: Sequence[str]) -> str:
    """A short digest of the headers, by which a form knows that the file is still read as it was."""
    return sha256("\n".join(headers).encode("utf-8", "replace")).hexdigest()[:16]


class MappingForm(forms.Form):
    """A ColumnMapping over the headers of one file; `mapping` gives it back.

    Columns are known by their place. What the form does not show (columns beyond the first 300, labels beyond the
    first 100) stays as it is in the mapping it was made from.
    """

    headers_seen = forms.CharField(widget=forms.HiddenInput)
    drop_unmapped = forms.BooleanField(
        label=_("Leave out every column that stands at “None of these”"),
        required=False,
        help_text=_("Without the tick they are kept as metadata, which the researchers of a study can read."),
    )
    without_text = forms.BooleanField(
        label=_("The file holds no text, only ids and what is known about them"),
        required=False,
        help_text=_("For conversations whose ratings alone were published."),
    )
    clean_commas = forms.BooleanField(
        label=_("Turn _comma_ into a comma"),
        required=False,
        help_text=_("The text as it stood in the file is kept beside it."),
    )
    skip_problem_rows = forms.BooleanField(
        label=_("Leave out rows with problems, and store the others"),
        required=False,
        help_text=_("Otherwise one problem anywhere in the file refuses it as a whole."),
    )
    others_are_other = forms.BooleanField(
        label=_("Import every speaker without a role as Other"),
        required=False,
        help_text=_("Raters then see the label beside the word Other."),
    )

    def __init__(
        self,
        data: MultiValueDict[str, Any] | None = None,
        *,
        headers: Sequence[str],
        mapping: ColumnMapping,
        speakers: Sequence[SpeakerPreview] = (),
        skip_problem_rows: bool = False,
    ) -> None:
        super().__init__(data)
        self.headers = list(headers)
        self.base = mapping
        self.mark = headers_mark(headers)
        self.initial = {
            "headers_seen": self.mark,
            "drop_unmapped": mapping.drop_unmapped,
            "without_text": mapping.without_text,
            "clean_commas": mapping.clean_commas,
            "skip_problem_rows": skip_problem_rows,
        }
        self._places = [place for place, header in enumerate(self.headers[:COLUMNS_SHOWN]) if not text_fault(header)]
        self._counts: list[int | None] = []
        self._add_columns()
        self._add_constants()
        self._add_speakers(data, speakers)

    # --- Fields ---------------------------------------------------------------------------------------------------

    def _add_columns(self) -> None:
        meanings = {column: name for name, column in self.base.mapped().items()}
        for place in self._places:
            header = self.headers[place]
            meaning, name = meanings.get(header, UNUSED if header in self.base.left_out else ""), ""
            prefix, dot, rest = meaning.partition(".")
            if dot and prefix in NAMED_FIELDS:
                meaning, name = prefix, "" if rest == header else rest
            self.fields[f"column_{place}"] = forms.ChoiceField(choices=MEANINGS, required=False, initial=meaning)
            self.fields[f"column_{place}_name"] = forms.CharField(
                required=False, max_length=NAME_LENGTH, initial=name, widget=forms.TextInput(attrs={"size": 14})
            )

    def _add_constants(self) -> None:
        for name in CONSTANT_FIELDS:
            self.fields[f"constant_{name}"] = forms.CharField(
                label=FIELD_LABELS[name],
                required=False,
                strip=False,
                max_length=2_000,
                initial=self.base.constants.get(name, ""),
            )
        named = [(name, value) for name, value in self.base.constants.items() if name not in CONSTANT_FIELDS]
        self._n_named = min(len(named) + NAMED_CONSTANTS, MAX_NAMED_CONSTANTS)
        for place in range(self._n_named):
            name, value = named[place] if place < len(named) else ("", "")
            kind, _dot, rest = name.partition(".")
            kinds = [("factor", _("Experimental condition")), ("meta", _("Metadata"))]
            self.fields[f"named_{place}_kind"] = forms.ChoiceField(
                label=_("Kind"), choices=kinds, required=False, initial=kind or "factor"
            )
            self.fields[f"named_{place}_name"] = forms.CharField(
                label=_("Name"), required=False, max_length=NAME_LENGTH, initial=rest
            )
            self.fields[f"named_{place}_value"] = forms.CharField(
                label=_("Value"), required=False, strip=False, max_length=2_000, initial=value
            )

    def _add_speakers(self, data: MultiValueDict[str, Any] | None, speakers: Sequence[SpeakerPreview]) -> None:
        given = {normal(label): role for label, role in self.base.roles.items()}
        rows: list[tuple[str, str, int | None]]
        if data is not None:
            rows = [(label, "", None) for label in _posted_labels(data)]
        else:
            speakers = [one for one in speakers if not text_fault(one.label)]
            rows = [(one.label, _effective(one, given), one.count) for one in speakers]
            shown = {normal(one.label) for one in speakers}
            rows += [(label, role, None) for label, role in self.base.roles.items() if normal(label) not in shown]
        for place, (label, role, count) in enumerate(rows[:SPEAKERS_SHOWN]):
            self.fields[f"label_{place}"] = forms.CharField(
                widget=forms.HiddenInput, strip=False, initial=label, required=False
            )
            self.fields[f"role_{place}"] = forms.ChoiceField(choices=ROLE_CHOICES, required=False, initial=role)
            self._counts.append(count)

    # --- For the template -----------------------------------------------------------------------------------------

    def column_rows(self) -> dict[str, ColumnRow]:
        """The row of each column that can be given a meaning, by its header."""
        rows = {}
        for place in self._places:
            header = self.headers[place]
            rows[header] = ColumnRow(header, self[f"column_{place}"], self[f"column_{place}_name"])
        return rows

    def constants(self) -> list[BoundField]:
        return [self[f"constant_{name}"] for name in CONSTANT_FIELDS]

    def named_constants(self) -> list[tuple[BoundField, BoundField, BoundField]]:
        return [
            (self[f"named_{place}_kind"], self[f"named_{place}_name"], self[f"named_{place}_value"])
            for place in range(self._n_named)
        ]

    def speaker_rows(self) -> list[SpeakerRow]:
        return [
            SpeakerRow(str(self[f"label_{place}"].value()), count, self[f"label_{place}"], self[f"role_{place}"])
            for place, count in enumerate(self._counts)
        ]

    @property
    def has_constants(self) -> bool:
        return bool(self.base.constants)

    # --- Back to a mapping ----------------------------------------------------------------------------------------

    def clean_headers_seen(self) -> str:
        if self.cleaned_data["headers_seen"] != self.mark:
            raise forms.ValidationError(
                _("The file is read in another way by now, and its columns have changed. Look at them again."),
                code="changed",
            )
        return self.mark

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        columns: dict[str, str] = {}
        for place, field in self._meanings():
            header = self.headers[place]
            if field in columns:
                self.add_error(f"column_{place}", _twice(field, columns[field], header))
            columns.setdefault(field, header)
        for name, key in self._constant_names():
            if name in columns:
                self.add_error(
                    key, _("“%(column)s” holds this already: empty one of them.") % {"column": columns[name]}
                )
        return cleaned

    def _meanings(self) -> Iterator[tuple[int, str]]:
        """Place and field of each column that has a meaning; `factor.NAME` and `meta.NAME` where it is named."""
        for place in self._places:
            meaning = self.cleaned_data.get(f"column_{place}", "")
            if meaning in NAMED_FIELDS:
                name = self.cleaned_data.get(f"column_{place}_name") or self.headers[place]
                yield place, f"{meaning}.{name}"
            elif meaning and meaning != UNUSED:
                yield place, meaning

    def _constant_names(self) -> Iterator[tuple[str, str]]:
        """Field, and key in the form, of each constant that is filled in."""
        for name in CONSTANT_FIELDS:
            if self.cleaned_data.get(f"constant_{name}", "").strip():
                yield name, f"constant_{name}"
        for place in range(self._n_named):
            name = self.cleaned_data.get(f"named_{place}_name", "")
            if name and self.cleaned_data.get(f"named_{place}_value", "").strip():
                kind = self.cleaned_data.get(f"named_{place}_kind") or "factor"
                yield f"{kind}.{name}", f"named_{place}_value"

    @property
    def mapping(self) -> ColumnMapping:
        """The mapping that a valid form says. No field is left to be guessed: what is empty is meant to be."""
        editable = {self.headers[place] for place in self._places}
        beyond = {
            name: column
            for name, column in self.base.mapped().items()
            if column in self.headers and column not in editable
        }
        chosen = {field: self.headers[place] for place, field in self._meanings()}
        constants = {name: self.cleaned_data[key] for name, key in self._constant_names()}
        unused = [self.headers[place] for place in self._places if self.cleaned_data.get(f"column_{place}") == UNUSED]
        return ColumnMapping(
            columns=dict.fromkeys(FIELDS, "") | beyond | chosen,
            constants=constants,
            roles=self._roles(),
            drop_unmapped=self.cleaned_data["drop_unmapped"],
            clean_commas=self.cleaned_data["clean_commas"],
            without_text=self.cleaned_data["without_text"],
            left_out=(*unused, *(column for column in self.base.left_out if column not in editable)),
        )

    def _roles(self) -> dict[str, str]:
        """Labels that are not shown keep their roles; of those shown only what is not known anyway is said."""
        posted = {}
        for place in range(len(self._counts)):
            label = self.cleaned_data.get(f"label_{place}", "")
            posted[normal(label)] = (label, self.cleaned_data.get(f"role_{place}", ""))
        roles = {label: role for label, role in self.base.roles.items() if normal(label) not in posted}
        for key, (label, role) in posted.items():
            if role and KNOWN_ROLES.get(key) != role:
                roles[label] = role
        return roles


class MappingNameForm(forms.Form):
    """The name a mapping is kept under."""

    mapping_name = forms.CharField(label=_("Keep this mapping as"), max_length=100)


def _posted_labels(data: MultiValueDict[str, Any]) -> list[str]:
    labels = []
    for place in range(SPEAKERS_SHOWN):
        if f"label_{place}" not in data:
            break
        labels.append(str(data[f"label_{place}"]))
    return labels


def _effective(speaker: SpeakerPreview, given: dict[str, str]) -> str:
    if normal(speaker.label) in given:
        return given[normal(speaker.label)]
    return speaker.role if speaker.is_known else ""


def _twice(field: str, first: str, second: str) -> str:
    return _("“%(first)s” and “%(second)s” both mean: %(field)s. Choose one of them.") % {
        "first": first,
        "second": second,
        "field": field_label(field),
    }
