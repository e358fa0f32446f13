"""A conversation in a form: its fields, and its rows of turns, metadata and factors, each with what is wrong with it.

Rows are no Django forms: five hundred of them would be drawn for seconds.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import CharField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.corpus import draft as drafts
from apps.corpus.draft import ConversationDraft, DraftPair, DraftTurn, Kind
from apps.corpus.models import Conversation, SpeakerRole
from apps.corpus.parsing.records import ConversationRecord, text_fault

LONGEST_SPEAKER = 100


class TextAsTyped(forms.CharField):
    """Text kept to the last space, mark and joiner; what no database can hold is refused in words."""

    def __init__(self, *, rows: int = 0, longest: int | None = None, **options: object) -> None:
        widget = forms.Textarea(attrs={"rows": rows, "dir": "auto"}) if rows else forms.TextInput(attrs={"dir": "auto"})
        # No max_length: browsers count otherwise (emoji twice) and cut off what is pasted without a word.
        super().__init__(strip=False, widget=widget, **options)  # type: ignore[arg-type]
        self.validators = [lambda text: refuse_faults(text, longest)]


def refuse_faults(text: str, longest: int | None = None) -> None:
    """Raises ValidationError."""
    if faults := faults_of(text, longest):
        raise ValidationError(faults)


def faults_of(text: str, longest: int | None = None) -> str:
    """What is wrong with a text, "" where nothing is."""
    if fault := text_fault(text):
        return _("This text %(fault)s.") % {"fault": fault}
    if longest is not None and len(text) > longest:
        return _("This has %(length)d characters; at most %(longest)d are allowed.") % {
            "length": len(text),
            "longest": longest,
        }
    return ""


def _longest(name: str) -> int | None:
    return cast("CharField[str, str]", Conversation._meta.get_field(name)).max_length


class ConversationForm(forms.Form):
    """All but the rows."""

    # Every button sends the form, also those that only add a row to one that is not finished.
    use_required_attribute = False

    title = TextAsTyped(
        label=gettext_lazy("Title"),
        required=False,
        longest=_longest("title"),
        help_text=gettext_lazy("Optional, for lists and searches. Raters do not see it."),
    )
    external_id = TextAsTyped(
        label=gettext_lazy("Id"),
        longest=_longest("external_id"),
        help_text=gettext_lazy("Names the conversation in files and results. Once in a dataset."),
    )
    language = TextAsTyped(
        label=gettext_lazy("Language"),
        required=False,
        longest=_longest("language"),
        help_text=gettext_lazy("For example en or pt-BR, so that it is read aloud rightly."),
    )
    reference = TextAsTyped(
        label=gettext_lazy("Reference answer"),
        required=False,
        rows=3,
        help_text=gettext_lazy("The right answer, where there is one."),
    )
    belief = TextAsTyped(label=gettext_lazy("Belief the seeker states"), required=False, rows=3)
    pair = TextAsTyped(
        label=gettext_lazy("Pair"),
        required=False,
        longest=_longest("pair"),
        help_text=gettext_lazy("Conversations that belong together have the same text here."),
    )
    parent = TextAsTyped(
        label=gettext_lazy("Derived from"),
        required=False,
        longest=_longest("parent"),
        help_text=gettext_lazy("The id of the conversation that this one was made from."),
    )


@dataclass
class TurnRow:
    """A turn in the form, with its number as a person counts and its errors by field."""

    number: int
    turn: DraftTurn
    errors: dict[str, str] = field(default_factory=dict)


@dataclass
class PairRow:
    pair: DraftPair
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where in the form something is to be mended: the id of its field, what a person calls it, and what is wrong."""

    anchor: str
    name: str
    error: str


class ConversationEditor:
    """The whole form. With `check` it says what is wrong; without, it only shows the draft again."""

    roles = SpeakerRole.choices

    def __init__(
        self, draft: ConversationDraft, *, stored: ConversationRecord | None = None, check: bool = False
    ) -> None:
        self.draft = draft
        self.stored = stored
        self.form = ConversationForm(draft.about) if check else ConversationForm(initial=draft.about)
        self.errors: list[str] = []
        self.turns = [TurnRow(number, turn) for number, turn in enumerate(draft.turns, start=1)]
        self.metadata = [PairRow(pair) for pair in draft.metadata]
        self.factors = [PairRow(pair) for pair in draft.factors]
        if check:
            self._check()

    def rows(self) -> list[TurnRow | PairRow]:
        return [*self.turns, *self.metadata, *self.factors]

    def is_valid(self) -> bool:
        return self.form.is_valid() and not self.errors and not any(row.errors for row in self.rows())

    @property
    def n_errors(self) -> int:
        return len(self.errors) + len(self.places())

    def places(self) -> list[Place]:
        """What is wrong, field by field, in the order of the form."""
        fields = [
            Place(self.form[name].id_for_label, str(self.form[name].label), str(errors[0]))
            for name, errors in self.form.errors.items()
        ]
        turns = [
            Place(f"turns-{row.turn.key}-{name}", _("Turn %(number)d") % {"number": row.number}, error)
            for row in self.turns
            for name, error in row.errors.items()
        ]
        kinds = (("factors", _("Experimental conditions"), self.factors), ("metadata", _("Metadata"), self.metadata))
        pairs = [
            Place(f"{kind}-{row.pair.key}-{name}", f"{heading}: {row.pair.name}" if row.pair.name else heading, error)
            for kind, heading, rows in kinds
            for row in rows
            for name, error in row.errors.items()
        ]
        return fields + turns + pairs

    @property
    def blank_turn(self) -> TurnRow:
        """What a script adds; it gives the row a key of its own."""
        return TurnRow(0, DraftTurn(key="KEY"))

    @property
    def blank_pair(self) -> PairRow:
        return PairRow(DraftPair(key="KEY"))

    @property
    def last_turn(self) -> int:
        return len(self.turns)

    @property
    def opens_more(self) -> bool:
        """Whether one of the fields that few conversations have is filled in, or wrong."""
        rare = ("reference", "belief", "pair", "parent")
        is_filled = any(self.draft.about.get(name) or name in self.form.errors for name in rare)
        return is_filled or bool(self.metadata or self.factors)

    def record(self) -> ConversationRecord:
        """What a valid form says. Rows of names and values that were left empty do not count."""
        return drafts.record_of(self.draft)

    def add_error(self, name: str | None, message: str) -> None:
        if name is None:
            self.errors.append(message)
        else:
            self.form.add_error(name, message)

    def _check(self) -> None:
        for row in self.turns:
            row.errors = self._turn_errors(row.turn)
        _check_pairs(self.metadata, self._names("metadata"))
        _check_pairs(self.factors, self._names("factors"))
        if not self.turns and (self.stored is None or self.stored.turns):
            self.errors.append(_("A conversation has at least one turn."))
        if len(self.turns) > drafts.MAX_TURNS or max(len(self.metadata), len(self.factors)) > drafts.MAX_PAIRS:
            self.errors.append(
                _("A conversation that is written here has at most %(turns)d turns and %(pairs)d rows of each kind.")
                % {"turns": drafts.MAX_TURNS, "pairs": drafts.MAX_PAIRS}
            )

    def _names(self, kind: Kind) -> set[str]:
        stored = self.stored
        return set() if stored is None else set(stored.metadata if kind == "metadata" else stored.factors)

    def _turn_errors(self, turn: DraftTurn) -> dict[str, str]:
        errors = {
            "role": "" if turn.role in SpeakerRole.values else _("Choose who speaks."),
            "speaker": faults_of(turn.speaker, LONGEST_SPEAKER),
            "text": faults_of(turn.text) or ("" if turn.text.strip() else _("Write what is said, or remove the turn.")),
        }
        return {name: error for name, error in errors.items() if error}


def without_blank_pairs(draft: ConversationDraft) -> ConversationDraft:
    """Rows that were added and left empty go unsaid."""
    for kind in ("metadata", "factors"):
        pairs = [pair for pair in draft.pairs(kind) if pair.name or pair.value or pair.origin]
        draft = draft.with_pairs(kind, pairs)
    return draft


def _check_pairs(rows: list[PairRow], stored_names: set[str]) -> None:
    times = Counter(row.pair.name for row in rows)
    for row in rows:
        pair = row.pair
        is_stored = bool(pair.origin) and pair.name in stored_names
        errors = {"name": faults_of(pair.name), "value": faults_of(pair.value) or _value_error(pair, is_stored)}
        if not pair.name.strip() and not is_stored:
            errors["name"] = _("Give it a name, or remove it.")
        elif times[pair.name] > 1:
            errors["name"] = _("This name is there twice.")
        row.errors = {name: error for name, error in errors.items() if error}


def _value_error(pair: DraftPair, is_stored: bool) -> str:
    if not pair.value and not is_stored:
        return _("Give it a value, or remove it.")
    try:
        drafts.read_value(pair)
    except ValueError as error:
        return _("As JSON, this %(fault)s. Text stands in quotes.") % {"fault": error}
    return ""
