"""The ZIP of a report, written the same to the byte each time, and read with bounds. Pure.

Reading never unpacks to a disk: members are streams, and names are only compared.
"""

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from apps.reports import manifest
from apps.reports.manifest import FileEntry

# The oldest time a ZIP can hold: when it was written is told by the manifest, and must not change the bytes.
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16
_UNIX = 3
_ENCRYPTED = 0x1

MAX_MEMBERS = 2_000
MAX_BYTES = 4 << 30
MAX_MANIFEST_BYTES = 64 << 20
CHUNK_BYTES = 1 << 20


class ArchiveError(ValueError):
    """The file is no archive of a report, or not one that can be read; one sentence."""


class Member(Protocol):
    """A file to be written into an archive."""

    @property
    def name(self) -> str: ...

    @property
    def write(self) -> Callable[[BinaryIO], None]: ...


class _Hashing:
    """Passes bytes on, and counts and hashes them."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        self._digest.update(view)
        self.size += view.nbytes
        self._out.write(view)
        return view.nbytes

    def flush(self) -> None:
        self._out.flush()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


def write_archive(out: BinaryIO, members: Iterable[Member], manifest_text: Callable[[list[FileEntry]], str]) -> None:
    """The members in their order, and at the end the manifest made from their sizes and hashes."""
    entries: list[FileEntry] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in members:
            with archive.open(_info(member.name), "w", force_zip64=True) as inside:
                hashing = _Hashing(inside)  # type: ignore[arg-type]
                member.write(hashing)  # type: ignore[arg-type]
            entries.append(FileEntry(member.name, hashing.size, hashing.sha256))
        archive.writestr(_info(manifest.NAME), manifest_text(entries).encode())


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, TIMESTAMP)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = _READABLE_FILE
    info.create_system = _UNIX
    return info


class Archive:
    """An archive that was opened. Every method raises ArchiveError for what is missing or damaged."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._infos = _checked(file.infolist())

    @property
    def names(self) -> list[str]:
        return list(self._infos)

    @contextmanager
    def open(self, name: str, *, most: int = MAX_BYTES) -> Iterator[BinaryIO]:
        """A member as a stream, where it has no more than `most` bytes."""
        if name not in self._infos:
            raise ArchiveError(f"The archive holds no {name}.")
        if (size := self._infos[name].file_size) > most:
            raise ArchiveError(f"{name} has {size} bytes; expected at most {most}.")
        with _reading(name), self._file.open(self._infos[name]) as member:
            yield member  # type: ignore[misc]

    def read(self, name: str, *, most: int = MAX_BYTES) -> bytes:
        """A member as bytes, where it has no more than `most`."""
        with self.open(name, most=most) as member:
            return member.read()

    def entry(self, name: str) -> FileEntry:
        """A member's size and hash, read piece by piece."""
        digest, size = hashlib.sha256(), 0
        with self.open(name) as member:
            while chunk := member.read(CHUNK_BYTES):
                digest.update(chunk)
                size += len(chunk)
        return FileEntry(name, size, digest.hexdigest())


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Raises ArchiveError for what is no archive or exceeds the bounds, OSError where the file cannot be opened."""
    try:
        file = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, UnicodeDecodeError):
        raise ArchiveError(f"{path.name} is no ZIP archive, or it is cut short.") from None
    with file:
        yield Archive(file)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, OSError) as error:
        raise ArchiveError(f"{name} cannot be read from the archive: it is damaged.") from error


def _checked(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members by name. Raises ArchiveError where they are too many, too large, encrypted or oddly named."""
    if len(infos) > MAX_MEMBERS:
        raise ArchiveError(f"The archive has {len(infos)} members; expected at most {MAX_MEMBERS}.")
    if (total := sum(info.file_size for info in infos)) > MAX_BYTES:
        raise ArchiveError(f"The archive unpacks to {total} bytes; expected at most {MAX_BYTES}.")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename
        if not name.isprintable() or "\\" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise ArchiveError(f"The archive has a member named {name!r}, which no report has.")
        if name in found:
            raise ArchiveError(f"The archive has two members named {name}.")
        if info.flag_bits & _ENCRYPTED:
            raise ArchiveError(f"{name} is encrypted, which no report is.")
        found[name] = info
    return found
