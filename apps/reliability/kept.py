"""What ratings and figures share as bytes that are kept: Parquet with a head, read only where whole and understood.

The head is compressed JSON in the file's metadata: a block may have hundreds of thousands of items. Before the file
stands its SHA-256, so that bytes that were cut or changed are never taken for data: a checksum of Parquet's own covers
the pages only, and not what the file says of them.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HEAD = b"accord"
# Raised with every change of what the bytes mean.
FORMAT = 1
# A head may be longer than what the library takes for reasonable.
LONGEST_HEAD = 1 << 30


class UnreadableError(ValueError):
    """The bytes are not whole, or of another program or version; the message says which."""


def writer(file: Any, schema: pa.Schema, **options: Any) -> pq.ParquetWriter:
    return pq.ParquetWriter(file, schema, compression="zstd", **options)


def sealed(file: bytes) -> bytes:
    """The bytes to keep of a finished file."""
    return hashlib.sha256(file).digest() + file


def packed_head(kind: str, head: dict[str, Any]) -> dict[bytes, bytes]:
    """The head as metadata of a Parquet file. `kind` tells files of ratings from those of figures."""
    text = json.dumps({"kind": kind, "format": FORMAT, **head})
    return {HEAD: base64.b64encode(zlib.compress(text.encode("utf-8")))}


def opened(data: bytes, kind: str) -> tuple[pq.ParquetFile, dict[str, Any]]:
    """The file with its head. Raises UnreadableError."""
    with reading():
        file = pq.ParquetFile(pa.BufferReader(_unsealed(data)), thrift_string_size_limit=LONGEST_HEAD)
        head = json.loads(zlib.decompress(base64.b64decode((file.metadata.metadata or {})[HEAD])))
        found = (head["kind"], head["format"])
    if found[0] != kind:
        raise UnreadableError(f"these bytes hold {found[0]}; expected {kind}")
    if found[1] != FORMAT:
        raise UnreadableError(
            f"these {kind} were kept in format {found[1]}, and this version of Accord reads format {FORMAT}: "
            "compute the agreement again"
        )
    return file, head


def _unsealed(data: bytes) -> memoryview:
    size = hashlib.sha256().digest_size
    file = memoryview(data)[size:]
    if hashlib.sha256(file).digest() != data[:size]:
        raise ValueError("the digest is another")
    return file


def is_whole(data: bytes, kind: str) -> bool:
    """Whether all of it can be read."""
    try:
        opened(data, kind)
    except UnreadableError:
        return False
    return True


@contextmanager
def reading() -> Iterator[None]:
    """What goes wrong while bytes are read is an UnreadableError."""
    try:
        yield
    except UnreadableError:
        raise
    except (pa.ArrowException, OSError, KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
        raise UnreadableError("the kept bytes are damaged or cut short, or were not written by Accord") from error
