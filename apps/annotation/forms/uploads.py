"""The forms a file of finished ratings is handed in and settled with."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from apps.annotation.parsing.reading import MAX_RATER_NAME, Told
from apps.corpus.forms.uploads import ACCEPTED, ENCODINGS, FORMATS
from apps.corpus.parsing.records import text_fault
from apps.studies.models import Block, RaterKind, Study

NO_COLUMN = _("no column")
LONG, WIDE = "long", "wide"
FIELD_LABELS = {
    "item": _("Conversation"),
    "rater": _("Rater"),
    "dimension": _("Dimension"),
    "value": _("Value"),
    "evidence": _("Passage that supports it"),
    "comment": _("Comment"),
    "cannot_tell": _("Could not tell"),
    "framework": _("Framework"),
    "block": _("Block"),
    "item_role": _("Role of the item"),
    "kind": _("Kind of rater"),
    "is_aggregate": _("Rater is an aggregate"),
    "is_simulated": _("Rater is simulated"),
}
MAIN_FIELDS = {LONG: ("item", "rater", "dimension", "value", "evidence", "comment"), WIDE: ("item", "rater")}
RARE_FIELDS = {
    LONG: ("cannot_tell", "framework", "block", "item_role", "kind", "is_aggregate", "is_simulated"),
    WIDE: ("block", "item_role", "kind", "is_aggregate", "is_simulated"),
}


class WhoseForm(forms.Form):
    """Whose ratings a file holds, and what they are."""

    rater = forms.CharField(
        label=_("Whose ratings"),
        max_length=MAX_RATER_NAME,
        required=False,
        help_text=_("The rater's pseudonym. Leave it empty where a column of the file says whose each rating is."),
    )
    kind = forms.ChoiceField(
        label=_("Kind of raters who are new to the study"),
        choices=[("", _("nobody is new, or it is said later")), *RaterKind.choices],
        required=False,
    )
    is_aggregate = forms.BooleanField(
        label=_("The values are means or medians of several people"),
        required=False,
        help_text=_("Then values between the points of a scale are taken. The rater stays an aggregate for good."),
    )
    empty_is_missing = forms.BooleanField(
        label=_("An empty cell means that nobody rated there"),
        required=False,
        help_text=_("Otherwise an empty cell is a problem."),
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._study = study

    def clean_rater(self) -> str:
        rater = str(self.cleaned_data["rater"]).strip()
        if fault := text_fault(rater):
            raise forms.ValidationError(_("The name %(fault)s."), params={"fault": fault})
        return rater

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        rater, kind = cleaned.get("rater"), cleaned.get("kind")
        known = self._study.raters.filter(name=rater).first() if rater else None
        if rater and known is None and not kind:
            self.add_error(
                "kind", _("%(rater)s is new to the study: say which kind of rater it is.") % {"rater": rater}
            )
        if known is not None and self._study.raters.computed_here().filter(pk=known.pk).exists():
            self.add_error(
                "rater",
                _("%(rater)s is a rater that Accord computes itself: its ratings are not taken from a file.")
                % {"rater": rater},
            )
        elif known is not None and kind and kind != known.kind:
            said = {"rater": rater, "kind": known.get_kind_display()}
            self.add_error("kind", _("%(rater)s is in the study already, as: %(kind)s. Leave the kind empty.") % said)
        return cleaned

    @property
    def told(self) -> Told:
        data = self.cleaned_data
        return Told(data["rater"], data["kind"], data["is_aggregate"], data["empty_is_missing"])


class BlockChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return str(obj.title)


class RatingUploadForm(WhoseForm):
    """A file, the block it goes into, and whose ratings it holds."""

    file = forms.FileField(
        label=_("File"),
        max_length=255,
        help_text=_("CSV, TSV, JSON Lines, JSON, XLSX or Parquet. Click to choose it, or drop it here."),
        widget=forms.FileInput(attrs={"accept": ACCEPTED, "class": "file-drop"}),
    )
    block = BlockChoice(
        label=_("Block"), queryset=Block.objects.none(), to_field_name="slug", empty_label=_("choose a block")
    )
    field_order = ["file", "block"]

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        blocks = study.blocks.all()
        choice = self.fields["block"]
        choice.queryset = blocks  # type: ignore[attr-defined]
        if len(blocks) == 1:
            choice.initial = blocks[0].slug
            choice.empty_label = None  # type: ignore[attr-defined]


class RatingReadingForm(WhoseForm):
    """How the file is read: its format, its encoding, and whose ratings it holds."""

    format = forms.ChoiceField(label=_("Format"), choices=[("", _("told by the content")), *FORMATS], required=False)
    encoding = forms.ChoiceField(label=_("Encoding"), choices=ENCODINGS, required=False)
    field_order = ["format", "encoding"]

    def __init__(self, *args: Any, asks_kind: bool = False, **kwargs: Any) -> None:
        """`asks_kind`: the file has new raters, so that their kind is a question of its own."""
        super().__init__(*args, **kwargs)
        self.asks_kind = asks_kind
        if asks_kind:
            kind = self.fields["kind"]
            kind.label = _("Which kind are they?")
            kind.choices = [("", _("choose a kind")), *RaterKind.choices]  # type: ignore[attr-defined]

    @property
    def file_fields(self) -> list[forms.BoundField]:
        return [self["format"], self["encoding"]]

    @property
    def whose_fields(self) -> list[forms.BoundField]:
        return [self["rater"]] if self.asks_kind else [self["rater"], self["kind"]]

    @property
    def switches(self) -> list[forms.BoundField]:
        return [self["is_aggregate"], self["empty_is_missing"]]

    @property
    def has_hidden_errors(self) -> bool:
        """Whether a field at fault is one of those that are folded away."""
        return any(name != "kind" or not self.asks_kind for name in self.errors)


class RatingMappingForm(forms.Form):
    """Which column means what: a select for each field of a long file, or for each dimension of a wide one."""

    prefix = "map"

    def __init__(
        self,
        *args: Any,
        shape: str,
        columns: Sequence[str],
        scales: Mapping[str, str],
        codes: Mapping[str, str],
        has_rater: bool,
        **kwargs: Any,
    ) -> None:
        """`scales` and `codes`: key of a dimension -> what people call it, and its slug."""
        super().__init__(*args, **kwargs)
        self.shape = shape
        choices = [("", NO_COLUMN), *((column, column) for column in columns)]
        labels: dict[str, Any] = {name: FIELD_LABELS[name] for name in (*MAIN_FIELDS[shape], *RARE_FIELDS[shape])}
        if has_rater:
            del labels["rater"]
        self._main = [name for name in MAIN_FIELDS[shape] if name in labels]
        self._scales = [f"dimension.{key}" for key in scales] if shape == WIDE else []
        self._evidence = [f"evidence.{key}" for key in scales] if shape == WIDE else []
        for key, name in scales.items() if shape == WIDE else ():
            labels[f"dimension.{key}"] = name
            labels[f"evidence.{key}"] = _("Passage: %(scale)s") % {"scale": name}
        for name, label in labels.items():
            self.fields[name] = forms.ChoiceField(label=label, choices=choices, required=False)
        for name in self._scales:
            code = codes[name.partition(".")[2]]
            self.fields[name].help_text = format_html("<code>{}</code>", code)

    @property
    def chosen(self) -> list[tuple[str, str]]:
        """What each field that has a column is called, and the column."""
        return [(str(field.label), self.initial[name]) for name, field in self.fields.items() if self.initial.get(name)]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self._main]

    @property
    def dimension_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self._scales]

    @property
    def evidence_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self._evidence]

    @property
    def rare_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in RARE_FIELDS[self.shape]]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        needed = ("item", "dimension", "value") if self.shape == LONG else ("item",)
        for name in needed:
            if name not in self.errors and not cleaned.get(name):
                self.add_error(name, _("Choose the column that says it."))
        if self.shape == WIDE and not self.errors and not any(cleaned.get(name) for name in self._scales):
            self.add_error(self._scales[0], _("Choose a column for one dimension at least."))
        for name in self._evidence:
            if cleaned.get(name) and not cleaned.get(name.replace("evidence.", "dimension.", 1)):
                self.add_error(name, _("Choose the column of its values, too."))
        return cleaned

    def field_for(self, name: str) -> forms.BoundField | None:
        """The field that answers a question about `name`: a field of a mapping, or `dimension` for any values."""
        if name in self.fields:
            return self[name]
        return self[self._scales[0]] if name == "dimension" and self._scales else None

    def is_rare(self, name: str) -> bool:
        return name in RARE_FIELDS[self.shape]

    def maps(self) -> list[str]:
        """Texts field=column for every select; those of no column say that the field is not to be guessed."""
        chosen = [f"{name}={self.cleaned_data[name]}" for name in self.fields]
        # A wide file has no column of these: without a word about them they would be guessed.
        return [*chosen, "dimension=", "value="] if self.shape == WIDE else chosen


class ConfirmForm(forms.Form):
    """The last word before an import."""

    skip_problem_rows = forms.BooleanField(
        label=_("Store the good rows and leave out those with problems"), required=False
    )
