"""The files of a report in a folder: all of them, or none. Pure."""

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Protocol

from apps.reports.contents import Format


class UnknownFormatError(ValueError):
    """A format of files that is not written here. The message names those that are."""


class NamedFile(Protocol):
    """A file to be written."""

    @property
    def name(self) -> str: ...

    @property
    def write(self) -> Callable[[BinaryIO], None]: ...


def parse_formats(text: str) -> tuple[str, ...]:
    """Formats from `csv,json`, each once. Raises UnknownFormatError."""
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in tuple(Format)]
    if unknown or not names:
        raise UnknownFormatError(
            f"Unknown format {', '.join(unknown) or repr(text)}; expected one of {', '.join(Format)}."
        )
    return names


def write_files(files: Iterable[NamedFile], folder: Path) -> list[Path]:
    """Write the files into `folder`, which is made if need be; they appear when all are complete. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with tempfile.TemporaryDirectory(dir=folder, prefix=".agreement-") as beside:
        for file in files:
            with (Path(beside) / file.name).open("wb") as out:
                file.write(out)
            paths.append(folder / file.name)
        for path in paths:
            os.replace(Path(beside) / path.name, path)
    return paths
