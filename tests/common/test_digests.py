import hashlib
import io

from apps.common import digests
from apps.common.digests import sha256_of


def test_a_file_is_hashed_whole_wherever_it_was_read_to(monkeypatch):
    monkeypatch.setattr(digests, "CHUNK_BYTES", 4)
    file = io.BytesIO(b"ten bytes!")
    file.seek(7)
    assert sha256_of(file) == hashlib.sha256(b"ten bytes!").hexdigest()
