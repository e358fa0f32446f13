"""CASES 28: any text that a database can hold comes in unchanged, whatever the file wraps it in."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from tests.corpus.readings import parquet, read

# Surrogates are halves of characters, NUL cannot be stored; a text of spaces alone counts as empty.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60).filter(
    lambda text: bool(text.strip())
)
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6)


def expected(rows):
    return {f"{number:03d}": list(row) for number, row in enumerate(rows)}


@given(ROWS, st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_case_28_a_text_survives_csv(rows, delimiter, encoding):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(["id", "post", "reply"])
    writer.writerows((f"{number:03d}", *row) for number, row in enumerate(rows))
    reading = read(file.getvalue().encode(encoding))
    assert reading.problems == []
    assert reading.texts == expected(rows)


@given(ROWS, st.booleans(), st.booleans())
def test_case_28_a_text_survives_json(rows, ascii_only, as_lines):
    records = [{"id": f"{number:03d}", "post": post, "reply": reply} for number, (post, reply) in enumerate(rows)]
    if as_lines:
        text = "\n".join(json.dumps(record, ensure_ascii=ascii_only) for record in records)
    else:
        text = json.dumps({"data": records}, ensure_ascii=ascii_only, indent=1)
    reading = read(text)
    assert reading.problems == []
    assert reading.texts == expected(rows)


@given(ROWS)
def test_case_28_a_text_survives_parquet(rows):
    posts, replies = zip(*rows, strict=True)
    ids = [f"{number:03d}" for number in range(len(rows))]
    assert read(parquet(id=ids, post=list(posts), reply=list(replies))).texts == expected(rows)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_case_28_messages_and_their_metadata_survive(texts):
    messages = [{"role": "user", "content": text} for text in texts]
    reading = read(json.dumps({"id": "1", "messages": messages, "note": texts[0]}))
    assert reading.texts == {"1": texts}
    assert reading.records[0].metadata == {"note": texts[0]}
