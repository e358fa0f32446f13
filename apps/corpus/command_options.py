"""Options of management commands that import files: `--map a=b c=d`, `--map a=b --map c=d`, FILE before or after."""

from collections.abc import Sequence
from pathlib import Path

from django.core.management.base import CommandError, CommandParser

from apps.corpus.parsing.records import EncodingError


def add_pairs(parser: CommandParser, option: str, *, dest: str, metavar: str) -> None:
    """An option that takes one text of the form NAME=VALUE or several, and may be repeated."""
    parser.add_argument(option, nargs="+", action="extend", default=[], dest=dest, metavar=metavar)


def files_and_pairs(files: Sequence[str], *options: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The files, and the texts of each option of pairs, less the files that stood behind it on the command line.

    A text without a sign of equality that is the path of something there is a file. Raises CommandError without any.
    """
    strays = [[text for text in texts if "=" not in text and Path(text).exists()] for texts in options]
    found = [*files, *(file for of_option in strays for file in of_option)]
    if not found:
        raise CommandError("Which file? Give its path first.")
    pairs = [[text for text in texts if text not in stray] for texts, stray in zip(options, strays, strict=True)]
    return found, pairs


def encoding_hint(error: EncodingError) -> str:
    return f" Try --encoding {error.likely}." if error.likely else ""
