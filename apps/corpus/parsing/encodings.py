"""From bytes to text: a byte order mark decides, else UTF-8, else a sentence that names the bad byte."""

import codecs
import io
from collections.abc import Iterator
from typing import BinaryIO

from apps.corpus.parsing.limits import MAX_RECORD_CHARACTERS
from apps.corpus.parsing.records import EncodingError, FileError

CHUNK_BYTES = 256 * 1024

# UTF-32 first: its mark begins with that of UTF-16.
MARKS = [
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def choose_encoding(head: bytes, asked: str | None = None) -> str:
    """The encoding of a file that begins with `head`: the one asked for, that of its mark, or UTF-8.

    Raises FileError for an unknown name or one that contradicts the mark, EncodingError for UTF-16 without a mark where
    nobody said in which order its bytes stand.
    """
    marked = next((encoding for mark, encoding in MARKS if head.startswith(mark)), None)
    if asked:
        return _checked(asked, marked, head)
    if marked:
        return marked
    if head.count(0) > len(head) // 10:
        likely = _likely_order(head)
        raise EncodingError(
            f"Byte 0x00 at offset {head.index(0)}: the file is full of NUL bytes, as UTF-16 without a byte order mark "
            f"is. Save it as UTF-8, or choose its encoding, probably {likely}.",
            offset=head.index(0),
            likely=likely,
        )
    return "utf-8"


def _likely_order(head: bytes) -> str:
    return "utf-16-le" if head[1::2].count(0) >= head[0::2].count(0) else "utf-16-be"


def _checked(asked: str, marked: str | None, head: bytes) -> str:
    try:
        b"a".decode(asked, "ignore")
        name = codecs.lookup(asked).name
    except (LookupError, UnicodeError):
        raise FileError(f"{asked} is not an encoding known here; expected for example utf-8 or cp1252.") from None
    if marked is None:
        if name == "utf-16":
            raise EncodingError(
                "The file has no byte order mark, which UTF-16 begins with. If it is UTF-16 all the same, choose "
                "utf-16-le or utf-16-be.",
                offset=0,
                likely=_likely_order(head) if head.count(0) else "",
            )
        return name
    family = marked.removesuffix("-sig")
    if not name.startswith(family):
        raise FileError(f"The file begins with the byte order mark of {family}, but {asked} was asked for.")
    return marked


def text_chunks(file: BinaryIO, encoding: str) -> Iterator[str]:
    """The text of `file` from its beginning, in pieces. Raises EncodingError at the first bad byte."""
    file.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    fed = lines = 0
    while True:
        chunk = file.read(CHUNK_BYTES)
        fed += len(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise _bad_byte(error, fed=fed, lines=lines, encoding=encoding) from None
        except UnicodeError:
            # What some codecs raise (UTF-32 without a mark, punycode), without saying where.
            raise FileError(f"The file is not {encoding.upper()} text.") from None
        lines += text.count("\n")
        yield text
        if not chunk:
            return


def _bad_byte(error: UnicodeDecodeError, *, fed: int, lines: int, encoding: str) -> EncodingError:
    # The decoder reports positions in what it holds: bytes kept back from earlier pieces and the last piece.
    offset = fed - len(error.object) + error.start
    wide = encoding.startswith(("utf-16", "utf-32"))
    line = 0 if wide else lines + error.object[: error.start].count(b"\n") + 1
    place = f"offset {offset}" + (f" (line {line})" if line else "")
    name = encoding.removesuffix("-sig").upper()
    likely = ""
    if encoding == "utf-8":
        likely = "cp1252"
        hint = f"Save the file as UTF-8, or choose its encoding, for example {likely}."
    elif any(encoding == marked for _, marked in MARKS):
        hint = "The file begins with the byte order mark of that encoding; it is damaged or cut off."
    else:
        hint = "Save the file as UTF-8, or choose another encoding."
    message = f"Byte 0x{error.object[error.start]:02x} at {place} is not valid {name}. {hint}"
    return EncodingError(message, offset=offset, line=line, likely=likely)


def text_lines(chunks: Iterator[str]) -> Iterator[str]:
    """Lines with their ends as they stand: LF, CR LF or CR, and no other character ends a line.

    Raises FileError for a line beyond MAX_RECORD_CHARACTERS.
    """
    pending = ""
    for chunk in chunks:
        lines = io.StringIO(pending + chunk, newline="").readlines()
        # A line that ends in CR may be the first half of CR LF.
        pending = lines.pop() if lines and not lines[-1].endswith("\n") else ""
        if len(pending) > MAX_RECORD_CHARACTERS:
            raise FileError(f"A line is longer than {MAX_RECORD_CHARACTERS:,} characters.")
        yield from lines
    yield from io.StringIO(pending, newline="")
