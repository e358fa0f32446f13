"""Which conversations of a dataset a block takes, told by their metadata, factors and language. Pure.

A choice is a mapping of names to the values taken: `{"meta.topic": ["grief", "work"], "factor.model": ["a"]}`. The
names are those of `import_conversations --map`: `meta.NAME`, `factor.NAME`, and `language`. A conversation is taken
when each name has one of its values; no name, or no value for it, asks nothing. Values are compared as they are read,
so the number 3 and the text "3" are one; the empty text stands for a value that is empty or missing.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Choice = Mapping[str, Sequence[str]]

META, FACTOR, LANGUAGE = "meta.", "factor.", "language"
MISSING = ""

# More than these are no groups but ids, times or texts: nobody ticks boxes for them.
LISTED_VALUES = 40
LONGEST_VALUE = 200


class ChoiceError(ValueError):
    """The choice is no mapping of names to values; the message says why."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a conversation can be chosen by."""

    metadata: Mapping[str, Any]
    factors: Mapping[str, Any]
    language: str = ""

    def value(self, name: str) -> str:
        """The value under a name of a choice, as text; MISSING where there is none."""
        if name == LANGUAGE:
            return self.language
        for prefix, found in ((META, self.metadata), (FACTOR, self.factors)):
            if name.startswith(prefix):
                return value_text(found.get(name.removeprefix(prefix)))
        return MISSING

    def items(self) -> Iterator[tuple[str, Any]]:
        """Every name it has, with its value as it is."""
        if self.language:
            yield LANGUAGE, self.language
        for name, value in self.metadata.items():
            yield META + name, value
        for name, value in self.factors.items():
            yield FACTOR + name, value


def value_text(value: Any) -> str:
    """A value as a person reads it: text as it is, nothing for null, anything else as JSON."""
    if value is None:
        return MISSING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def is_taken(traits: Traits, choice: Choice) -> bool:
    return all(traits.value(name) in values for name, values in choice.items() if values)


def checked_choice(choice: Mapping[str, Any]) -> dict[str, list[str]]:
    """The choice without names that ask nothing, values in order and once each. Raises ChoiceError."""
    checked = {}
    for name, values in choice.items():
        if name != LANGUAGE and not name.startswith((META, FACTOR)):
            raise ChoiceError(f"{name!r} is no name to choose by: expected meta.NAME, factor.NAME or language")
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise ChoiceError(f"the values of {name} must be a list of texts")
        if values:
            checked[name] = sorted(set(values))
    return checked


@dataclass(slots=True)
class Trait:
    """A name that conversations of a dataset have, with its values and how many conversations have each.

    `is_listed` is false where there are too many values, or too long ones, to choose among; `values` are then empty.
    """

    name: str
    n_having: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    is_listed: bool = True

    @property
    def label(self) -> str:
        return self.name.removeprefix(META).removeprefix(FACTOR)

    @property
    def is_factor(self) -> bool:
        return self.name.startswith(FACTOR)

    @property
    def values(self) -> list[tuple[str, int]]:
        """(value, number of conversations), the most frequent first."""
        return sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))

    def count(self, raw: Any) -> None:
        self.n_having += 1
        if not self.is_listed:
            return
        value = value_text(raw)
        self.counts[value] += 1
        if len(self.counts) > LISTED_VALUES or len(value) > LONGEST_VALUE:
            self.is_listed = False
            self.counts.clear()


def tally_traits(conversations: Iterable[Traits]) -> list[Trait]:
    """Every name that occurs, factors first, then by name. Memory does not grow with the number of conversations."""
    traits: dict[str, Trait] = {}
    n_seen = 0
    for conversation in conversations:
        n_seen += 1
        for name, value in conversation.items():
            trait = traits.get(name)
            if trait is None:
                trait = traits[name] = Trait(name)
            trait.count(value)
    for trait in traits.values():
        if trait.n_having < n_seen and trait.is_listed:
            trait.counts[MISSING] += n_seen - trait.n_having
    return sorted(traits.values(), key=lambda trait: (not trait.is_factor, trait.name))
