"""CASES 1: byte order marks, UTF-8, and bytes that are neither."""

import codecs
import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.forms.uploads import ENCODINGS
from apps.corpus.parsing.encodings import CHUNK_BYTES, choose_encoding, text_chunks, text_lines
from apps.corpus.parsing.records import EncodingError, FileError
from tests.corpus.readings import read

TABLE = "id,transcript\r\n1,Seeker: café 🙂\r\n"


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + TABLE.encode(),
        codecs.BOM_UTF16_LE + TABLE.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TABLE.encode("utf-32-le"),
        TABLE.encode(),
    ],
    ids=["utf-8 mark", "utf-16 le", "utf-16 be", "utf-32", "plain"],
)
def test_case_1_a_byte_order_mark_decides_else_utf_8(data):
    assert read(data).texts == {"1": ["café 🙂"]}


def test_case_1_a_byte_that_is_not_utf_8_is_named_with_offset_and_line():
    data = b"id,transcript\n1,Seeker: caf\xe9\n"
    with pytest.raises(EncodingError) as refusal:
        read(data)
    assert refusal.value.offset == data.index(b"\xe9") == 27
    assert refusal.value.line == 2
    assert "Byte 0xe9 at offset 27 (line 2) is not valid UTF-8" in str(refusal.value)
    assert "choose its encoding, for example cp1252" in str(refusal.value)


def test_case_1_the_encoding_can_be_chosen():
    assert read(b"id,transcript\n1,Seeker: caf\xe9\n", encoding="cp1252").texts == {"1": ["café"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("before", [0, 5, CHUNK_BYTES - 4, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7])
def test_the_offset_is_right_wherever_the_pieces_of_the_file_end(encoding, before):
    start = {"utf-8-sig": codecs.BOM_UTF8, "utf-16": codecs.BOM_UTF16_LE}.get(encoding, b"")
    filling = ("a" * (before // 2)).encode("utf-16-le") if encoding == "utf-16" else b"a" * before
    # A lone low surrogate, a lead byte without its tail, a byte cp1252 leaves undefined.
    bad = {"utf-16": b"\x00\xdc", "cp1252": b"\x81"}.get(encoding, b"\xe2\x28\xa1")
    with pytest.raises(EncodingError) as refusal:
        list(text_chunks(io.BytesIO(start + filling + bad + b"\nb\n"), encoding))
    assert refusal.value.offset == len(start + filling)


def test_a_character_cut_off_at_the_end_of_the_file_is_named():
    with pytest.raises(EncodingError) as refusal:
        list(text_chunks(io.BytesIO(b"ok\n" + "é".encode()[:1]), "utf-8"))
    assert (refusal.value.offset, refusal.value.line) == (3, 2)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised_and_named(encoding):
    with pytest.raises(EncodingError, match=f"probably {encoding}"):
        read(TABLE.encode(encoding))
    assert read(TABLE.encode(encoding), encoding=encoding).texts == {"1": ["café 🙂"]}


@pytest.mark.parametrize(
    "data",
    [
        b'[{"id": 1, "post": "a", "reply": "b"}, {"id": "\xe9"}]',
        b'{"id": 1, "post": "a", "reply": "b"}\n{"id": "\xe9"}',
        b'[{"id": 1, "post": "a", "reply": "b"}' + b" " * CHUNK_BYTES + b', {"id": "\xe9"}]',
    ],
)
def test_a_bad_byte_of_json_is_named_as_one(data):
    with pytest.raises(EncodingError) as refusal:
        read(data)
    assert refusal.value.offset == data.index(b"\xe9")


@pytest.mark.parametrize("name", ["klingon", "rot13", "hex"])
def test_an_unknown_encoding_is_refused_by_name(name):
    with pytest.raises(FileError, match=f"{name} is not an encoding known here"):
        choose_encoding(b"abc", name)


def test_utf_16_that_is_asked_for_and_has_no_mark_is_refused_and_its_order_asked():
    with pytest.raises(EncodingError, match=r"no byte order mark.*utf-16-le or utf-16-be") as refusal:
        choose_encoding(b"id,post,reply", "utf-16")
    assert refusal.value.likely == ""
    with pytest.raises(EncodingError) as refusal:
        choose_encoding("id,post".encode("utf-16-be"), "UTF16")
    assert refusal.value.likely == "utf-16-be"


@pytest.mark.parametrize("name", [*(name for name, _ in ENCODINGS if name), "utf-32", "utf-7", "punycode", "idna"])
@pytest.mark.parametrize(
    "data", [b"id,post,reply\n1,a,b\n", b"id\xe9\xff,\x81", b"\xff", b"a\0b\0", b"x" * 70 + b".a\n", bytes(range(256))]
)
def test_whatever_encoding_is_asked_for_a_file_is_read_or_refused_in_a_sentence(name, data):
    with contextlib.suppress(FileError):
        assert "".join(text_chunks(io.BytesIO(data), choose_encoding(data, name)))


def test_an_encoding_against_the_mark_is_refused():
    with pytest.raises(FileError, match="byte order mark of utf-16, but cp1252 was asked for"):
        choose_encoding(codecs.BOM_UTF16_LE + b"a\0", "cp1252")
    assert choose_encoding(codecs.BOM_UTF8 + b"a", "UTF8") == "utf-8-sig"


@given(st.text(alphabet="a\r\n\u2028\x85\x0b", max_size=40), st.integers(1, 5))
def test_lines_end_at_line_feeds_and_carriage_returns_only_however_the_text_is_cut(text, size):
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    assert list(text_lines(iter(pieces))) == list(io.StringIO(text, newline=""))


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.encodings.MAX_RECORD_CHARACTERS", 10)
    with pytest.raises(FileError, match="longer than 10 characters"):
        list(text_lines(iter(["abcdef", "ghijkl"])))
