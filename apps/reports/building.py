"""The files of a report, one after the other, from one description of what it holds.

    content = content_of_snapshot(snapshot, options)        # reports/services/contents.py
    for file in build_files(content):
        with open(folder / file.name, "wb") as out:
            file.write(out)

Nothing is computed anew: every file says what `content` says, so all of them agree. The same snapshot and options give
the same bytes. Never call this in a process that forks afterwards: figures are drawn by a library that does not survive
a fork (background work runs in threads).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from apps.reports.contents import ReportContent

# Called with the name of a file before it is written, also for the files within the archive.
Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file to be: its name without a folder, its type, and what writes its bytes into an open file."""

    name: str
    content_type: str
    write: Callable[[BinaryIO], None]


def build_files(content: ReportContent, *, told: Told | None = None) -> Iterator[BuiltFile]:
    """The files that `content.options.formats` ask for, in a fixed order. Nothing is written before `write` is called.

    `svg` and `png` give a file for each figure, the others one each. `told` may raise to end the work.
    """
    raise NotImplementedError


def count_files(content: ReportContent) -> int:
    """How many times `told` will be called, for a progress bar."""
    raise NotImplementedError
