"""Fingerprints of files. Pure."""

import hashlib
from typing import BinaryIO

CHUNK_BYTES = 1024 * 1024


def sha256_of(file: BinaryIO) -> str:
    """SHA-256 of the whole file, 64 hexadecimal digits, read a piece at a time. Leaves the file at its end."""
    file.seek(0)
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()
