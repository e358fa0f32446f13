"""Which column means what. The fields are those of the import contract (docs/importing-conversations.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from apps.corpus.parsing.records import FileError, Role
from apps.corpus.parsing.speakers import NOT_A_SPEAKER


class Shape(StrEnum):
    """How a conversation lies in its file."""

    TURNS = "turns"
    POST_REPLY = "post_reply"
    TRANSCRIPT = "transcript"
    MESSAGES = "messages"
    NO_TEXT = "no_text"


SHAPE_FIELDS = {
    Shape.TURNS: ("turn_index", "speaker", "text"),
    Shape.POST_REPLY: ("post", "reply"),
    Shape.TRANSCRIPT: ("transcript",),
    Shape.MESSAGES: ("messages",),
}
# The order of the rows stands in for a missing turn_index.
OPTIONAL_SHAPE_FIELDS = ("turn_index",)
SHAPE_OF_FIELD = {name: shape for shape, names in SHAPE_FIELDS.items() for name in names}
ABOUT_FIELDS = ("title", "language", "reference", "belief", "pair", "parent")
NAMED_FIELDS = ("meta", "factor")
FIELDS = ("id", *SHAPE_OF_FIELD, *ABOUT_FIELDS)
# A constant makes sense where it may hold for every row.
CONSTANT_FIELDS = ("speaker", "post", *ABOUT_FIELDS)
NAME_SHOWN = 60
ROLES = (*Role, NOT_A_SPEAKER)


class MappingError(FileError):
    """The fields of a mapping do not fit together, or not the file. The message names them as commands do.

    For pages, which call fields otherwise: `missing` fields have no column (of an unknown shape: none holds a text),
    `clashing` ones belong to different shapes, or to none where the dataset is `without_text`; `absent` columns are
    not in the file.
    """

    def __init__(
        self,
        message: str,
        *,
        missing: Iterable[str] = (),
        clashing: Iterable[str] = (),
        absent: Iterable[str] = (),
        shape: Shape | None = None,
    ) -> None:
        super().__init__(message)
        self.missing = tuple(missing)
        self.clashing = tuple(clashing)
        self.absent = tuple(absent)
        self.shape = shape


@dataclass(frozen=True)
class ColumnMapping:
    """What is taken from where.

    `columns`: field -> column; a column of "" says that the field is not to be guessed.
    `constants`: field -> the same text for every row. `roles`: speaker label -> role. `left_out`: columns that are not
    kept as metadata even where unmapped ones are.
    """

    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    drop_unmapped: bool = False
    clean_commas: bool = False
    without_text: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """Raises MappingError where the fields belong to no shape or to several."""
        named = {name: SHAPE_OF_FIELD[name] for name in (*self.mapped(), *self.constants) if name in SHAPE_OF_FIELD}
        shapes = set(named.values())
        if len(shapes) > 1:
            raise MappingError(
                f"The fields {', '.join(sorted(named))} belong to different shapes. Map one of: {describe_shapes()}.",
                clashing=named,
            )
        if self.without_text:
            if shapes:
                raise MappingError(
                    f"A dataset without text has no field {', '.join(sorted(named))}.",
                    clashing=named,
                    shape=Shape.NO_TEXT,
                )
            return Shape.NO_TEXT
        if not shapes:
            missing = [] if "id" in self.mapped() else ["id"]
            raise MappingError(
                f"No column is mapped to the text. Map one of: {describe_shapes()}.", missing=[*missing, "text"]
            )
        return shapes.pop()

    def mapped(self) -> dict[str, str]:
        """The fields that have a column."""
        return {name: column for name, column in self.columns.items() if column}

    def required(self) -> list[str]:
        """Fields without which no row can be read, given the shape."""
        names = [name for name in SHAPE_FIELDS.get(self.shape, ()) if name not in OPTIONAL_SHAPE_FIELDS]
        return names if self.shape is Shape.MESSAGES else ["id", *names]

    def missing(self) -> list[str]:
        """Required fields that have neither a column nor a constant."""
        return [name for name in self.required() if name not in self.mapped() and name not in self.constants]

    def check_columns(self, headers: Iterable[str], *, may_come_later: bool = False) -> None:
        """Raises MappingError that lists the headers seen where a mapped column or a required field is missing.

        `may_come_later`: the headers are the keys of the first records only, so a column that is not required may
        still be met.
        """
        seen = list(headers)
        try:
            required = self.required()
        except MappingError as problem:
            problem.args = (f"{problem} The headers are: {listed(seen)}.",)
            raise
        absent = [
            (name, column)
            for name, column in self.mapped().items()
            if column not in seen and (name in required or not may_come_later)
        ]
        if absent:
            word = "column" if len(absent) == 1 else "columns"
            named = ", ".join(f"{column} (for {name})" for name, column in absent)
            raise MappingError(
                f"The file has no {word} {named}. Its headers are: {listed(seen)}.",
                absent=[column for _, column in absent],
            )
        if missing := self.missing():
            word = "field" if len(missing) == 1 else "fields"
            raise MappingError(
                f"No column is mapped to the {word} {', '.join(missing)}. The headers are: {listed(seen)}.",
                missing=missing,
                shape=self.shape,
            )

    def with_columns(self, columns: dict[str, str]) -> "ColumnMapping":
        return replace(self, columns=self.columns | columns)

    def as_dict(self) -> dict[str, object]:
        """For the log of imports: only what is set."""
        parts = {
            "columns": self.mapped(),
            "constants": self.constants,
            "roles": self.roles,
            "drop_unmapped": self.drop_unmapped,
            "clean_commas": self.clean_commas,
            "without_text": self.without_text,
            "left_out": list(self.left_out),
        }
        return {name: value for name, value in parts.items() if value}

    def as_json(self) -> dict[str, Any]:
        """Everything, for `mapping_from_json`: also which fields are not to be guessed."""
        return self.as_dict() | ({"columns": self.columns} if self.columns else {})


def mapping_from_json(parts: Mapping[str, Any]) -> ColumnMapping:
    """The mapping that `ColumnMapping.as_json` has written; {} is one in which everything is guessed."""
    return ColumnMapping(
        columns=dict(parts.get("columns", {})),
        constants=dict(parts.get("constants", {})),
        roles=dict(parts.get("roles", {})),
        drop_unmapped=bool(parts.get("drop_unmapped", False)),
        clean_commas=bool(parts.get("clean_commas", False)),
        without_text=bool(parts.get("without_text", False)),
        left_out=tuple(parts.get("left_out", ())),
    )


def listed(names: Iterable[str], limit: int = 40) -> str:
    """Names, the long ones shortened, cut after `limit` with the number of those left out."""
    all_names = [name if len(name) <= NAME_SHOWN else name[: NAME_SHOWN - 1] + "…" for name in names]
    rest = len(all_names) - limit
    return ", ".join(all_names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def describe_shapes() -> str:
    return " | ".join(" ".join(names) for names in SHAPE_FIELDS.values())


def parse_mapping(
    maps: Iterable[str] = (),
    constants: Iterable[str] = (),
    *,
    drop_unmapped: bool = False,
    clean_commas: bool = False,
    without_text: bool = False,
) -> ColumnMapping:
    """A mapping from `field=column` and `field=value` texts; `speaker.LABEL=role` may stand in either.

    Raises FileError for a text without "=", an unknown field, an unknown role, or a field given twice.
    """
    columns: dict[str, str] = {}
    fixed: dict[str, str] = {}
    roles: dict[str, str] = {}
    for text, target, allowed in [
        *((text, columns, FIELDS) for text in maps),
        *((text, fixed, CONSTANT_FIELDS) for text in constants),
    ]:
        name, value = _split(text)
        if name.startswith("speaker."):
            roles[name.removeprefix("speaker.")] = _role(name, value)
            continue
        _check_field(name, allowed, constant=target is fixed)
        if name in columns or name in fixed:
            raise FileError(f"The field {name} is given twice.")
        target[name] = value
    return ColumnMapping(columns, fixed, roles, drop_unmapped, clean_commas, without_text)


def _split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise FileError(f"{text} is not of the form field=column.")
    return name.strip(), value


def _check_field(name: str, allowed: tuple[str, ...], *, constant: bool) -> None:
    prefix, dot, rest = name.partition(".")
    if name in allowed or (prefix in NAMED_FIELDS and dot and rest):
        return
    if constant and name in FIELDS:
        raise FileError(f"The field {name} differs from row to row and cannot be set to one value.")
    raise FileError(
        f"{name} is not a field. Expected one of: {', '.join(allowed)}, meta.NAME, factor.NAME, speaker.LABEL."
    )


def _role(name: str, value: str) -> str:
    role = value.strip().lower()
    if role not in ROLES:
        raise FileError(f"{name}={value}: expected one of {', '.join(ROLES)}.")
    return role
