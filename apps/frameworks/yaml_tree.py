"""YAML read as a tree of nodes that remember their lines. Nothing in the file is ever built, only looked at."""

from dataclasses import dataclass
from typing import TypeGuard

import yaml

MAX_BYTES = 256 * 1024
MAX_DEPTH = 12

STRING = "tag:yaml.org,2002:str"
BOOLEAN = "tag:yaml.org,2002:bool"
NULL = "tag:yaml.org,2002:null"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend: the field (`dimensions[2].points[0].value`; empty: the file), its line, what was expected.

    `expected` continues a sentence that begins with the field: "must be a number". `scale`: what the file calls the
    scale that the field belongs to.
    """

    field: str
    line: int | None
    expected: str
    scale: str = ""

    def __str__(self) -> str:
        line = f"Line {self.line}" if self.line is not None else ""
        scale = f"scale {self.scale}" if self.scale else ""
        where = ", ".join(part for part in (line, scale) if part)
        return f"{where}{': ' if where else ''}{self.field or 'The file'} {self.expected}."


TOO_LARGE = Problem("", None, f"must be no larger than {MAX_BYTES // 1024} kB")


class Unreadable(Exception):  # noqa: N818 - reads as what happened
    """The text is no YAML that we read; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_tree(text: str) -> yaml.MappingNode:
    """The mapping that the text's only document is.

    Raises Unreadable for a text over 256 kB, wrong YAML, something else than one mapping, and aliases or deep nesting,
    which let a small text stand for a huge one.
    """
    if len(text.encode(errors="replace")) > MAX_BYTES:
        raise Unreadable(TOO_LARGE)
    text = text.removeprefix("\ufeff")
    try:
        _refuse_what_grows(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise Unreadable(_problem_of(error, text)) from error
    if root is None or not is_mapping(root):
        line = None if root is None else line_of(root)
        raise Unreadable(Problem("", line, "must be a mapping, with lines such as `name: My scales`"))
    return root


def line_of(source: yaml.Node | yaml.Event) -> int:
    """The line, counted from 1, on which a node or event begins."""
    return int(source.start_mark.line) + 1 if source.start_mark is not None else 1


def is_mapping(node: yaml.Node) -> TypeGuard[yaml.MappingNode]:
    return isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map"


def is_sequence(node: yaml.Node) -> TypeGuard[yaml.SequenceNode]:
    return isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq"


def _refuse_what_grows(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if getattr(event, "anchor", None) is not None:
            raise Unreadable(
                Problem("", line_of(event), "must not use anchors or aliases (& and *): write the text out")
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise Unreadable(Problem("", line_of(event), f"is nested deeper than {MAX_DEPTH} levels"))


def _problem_of(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        line = text[: error.position].count("\n") + 1
        return Problem("", line, f"holds the character U+{ord(text[error.position]):04X}, which YAML does not allow")
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = error.problem_mark.line + 1
        hint = ""
        if error.problem == "mapping values are not allowed here":
            hint = "; put text that holds a colon in quotes, and begin fields that belong together in one column"
        elif any(source.rstrip().endswith(": -") for source in text.split("\n")[line - 1 : line]):
            hint = '; a minus on its own must stand in quotes: "-"'
        return Problem("", line, f"is not valid YAML: {error.problem}{hint}")
    return Problem("", None, f"is not valid YAML: {error}")
