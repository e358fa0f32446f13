"""The fields of one YAML mapping, taken one by one; what is wrong with any is noted, and the rest are still read."""

import re
import unicodedata

import yaml

from apps.frameworks import yaml_tree
from apps.frameworks.yaml_tree import Problem, line_of

SHOWN = 40  # characters of a wrong value that a message repeats
# No exponents, no leading zeros (YAML reads 010 as eight), no more decimals than a scale can need.
PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,5})(?:\.[0-9]{1,4})?")


class Fields:
    """One mapping of the file: hands out its fields, and notes each that is not what it should be.

    A field with a problem comes out as an empty text, None or an empty list, so that the next ones are still checked.
    """

    def __init__(self, node: yaml.Node, path: str, problems: list[Problem], *, scale: str = "") -> None:
        self.line = line_of(node)
        self._scale = scale
        self._path = path
        self._problems = problems
        self._nodes: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "(a list or mapping)"
            if name in self._nodes:
                self.note(name, "is there twice: keep one", line=line_of(key))
            self._nodes[name] = value

    def path(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def note(self, key: str, expected: str, *, line: int | None = None) -> None:
        if line is None:
            line = line_of(self._nodes[key]) if key in self._nodes else self.line
        self._problems.append(Problem(self.path(key), line, expected, self._scale))

    def refuse_others(self, known: tuple[str, ...]) -> None:
        for key, node in self._nodes.items():
            if key not in known:
                self.note(key, f"is not a field; the fields here are {', '.join(known)}", line=line_of(node))

    def text(self, key: str, *, required: bool = True, longest: int | None = None) -> str:
        node = self._scalar(key, required=required)
        if node is None:
            return ""
        if node.tag != yaml_tree.STRING:
            self.note(key, f"must be text, but YAML reads {quoted(node.value)} otherwise: put it in quotes")
            return ""
        text = str(node.value).strip()
        if required and not text:
            self.note(key, "must not be empty")
        if longest is not None and len(text) > longest:
            self.note(key, f"must have at most {longest} characters; it has {len(text)}")
        if unusable := _unusable_character(text):
            self.note(key, f"holds the control character U+{ord(unusable):04X}: remove it")
        return text

    def pattern(self, key: str, pattern: re.Pattern[str], expected: str, *, longest: int, required: bool = True) -> str:
        text = self.text(key, required=required, longest=longest)
        if text and not pattern.fullmatch(text):
            self.note(key, f"{expected}, not {quoted(text)}")
        return text

    def choice(self, key: str, choices: tuple[str, ...], *, default: str | None) -> str:
        """One of the choices; where the field is missing the default, if there is one. Empty where it is wrong."""
        if default is not None and self._is_missing(key):
            return default
        if self._is_missing(key):
            self.note(key, f"is missing: it must be one of {', '.join(choices)}")
            return ""
        node = self._scalar(key, required=True)
        if node is None:
            return ""
        if node.value not in choices:
            self.note(key, f"must be one of {', '.join(choices)}, not {quoted(node.value)}")
            return ""
        return str(node.value)

    def number(self, key: str, *, required: bool) -> float | None:
        node = self._scalar(key, required=required)
        if node is None:
            return None
        if node.tag not in yaml_tree.NUMBERS or not PLAIN_NUMBER.fullmatch(node.value):
            self.note(key, f"must be a number such as 3 or 0.5, not {quoted(node.value)}")
            return None
        return float(node.value) + 0.0

    def mapping(self, key: str) -> "Fields | None":
        """The mapping under an optional key."""
        if self._is_missing(key):
            return None
        node = self._nodes[key]
        if not yaml_tree.is_mapping(node):
            self.note(key, "must be a mapping of names and values")
            return None
        return Fields(node, self.path(key), self._problems, scale=self._scale)

    def mappings(self, key: str, *, fewest: int, are_scales: bool = False) -> "list[Fields]":
        """The mappings in the list under a required key, which has at least so many entries."""
        if self._is_missing(key):
            self.note(key, "is missing")
            return []
        node = self._nodes[key]
        if not yaml_tree.is_sequence(node):
            self.note(key, "must be a list: each entry begins with a dash")
            return []
        if len(node.value) < fewest:
            self.note(key, f"must have at least {fewest} {'entry' if fewest == 1 else 'entries'}")
        entries = []
        for index, entry in enumerate(node.value):
            if yaml_tree.is_mapping(entry):
                scale = _name_of(entry) if are_scales else self._scale
                entries.append(Fields(entry, f"{self.path(key)}[{index}]", self._problems, scale=scale))
            else:
                self.note(f"{key}[{index}]", "must be a mapping of names and values", line=line_of(entry))
        return entries

    def _is_missing(self, key: str) -> bool:
        return key not in self._nodes or self._nodes[key].tag == yaml_tree.NULL

    def _scalar(self, key: str, *, required: bool) -> yaml.ScalarNode | None:
        if self._is_missing(key):
            if required:
                self.note(key, "is missing")
            return None
        node = self._nodes[key]
        if not isinstance(node, yaml.ScalarNode):
            self.note(key, "must be a single value, not a list or mapping")
            return None
        if node.tag == yaml_tree.BOOLEAN:
            self.note(key, f"is read by YAML as true or false: put {quoted(node.value)} in quotes if it is a word")
            return None
        return node


def _name_of(entry: yaml.MappingNode) -> str:
    """The label of a scale, else its slug, else nothing."""
    scalars = (pair for pair in entry.value if all(isinstance(node, yaml.ScalarNode) for node in pair))
    texts = {key.value: value.value for key, value in scalars}
    name = str(texts.get("label") or texts.get("slug") or "")
    return quoted(name) if name.strip() else ""


def quoted(value: object) -> str:
    """A wrong value as a message shows it: on one line, and not the whole of a long one."""
    text = " ".join(str(value).split())
    return f'"{text[:SHOWN]}..."' if len(text) > SHOWN else f'"{text}"'


def _unusable_character(text: str) -> str | None:
    """The first control character or lone surrogate, which no database or page takes; tabs and line ends are fine."""
    return next((c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cs")), None)
