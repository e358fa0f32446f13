"""Parquet: typed columns, in batches."""

from datetime import date

import pyarrow
import pytest

from apps.corpus.parsing.columnar import BATCH_ROWS
from apps.corpus.parsing.records import FileError
from tests.corpus.readings import parquet, read


def test_rows_of_several_batches_are_all_read():
    n = 2 * BATCH_ROWS + 3
    data = parquet(
        id=[f"{number:04d}" for number in range(n)], post=["a"] * n, reply=[str(number) for number in range(n)]
    )
    reading = read(data, name="file.csv")
    assert reading.reader.table.format == "parquet"
    assert list(reading.texts) == [f"{number:04d}" for number in range(n)]


def test_whole_numbers_are_ids_without_decimals_and_64_bits_are_exact():
    numbers = pyarrow.array([2**63 - 1, 7], pyarrow.int64())
    reading = read(parquet(id=numbers, post=["a", "b"], reply=["c", "d"]))
    assert list(reading.texts) == ["9223372036854775807", "7"]
    assert reading.notices == []
    assert list(read(parquet(id=[7.0, 8.5], post=["a", "b"], reply=["c", "d"])).texts) == ["7", "8.5"]


def test_a_floating_id_that_lost_digits_is_warned_of():
    reading = read(parquet(id=[2.0241031124050493e19], post=["a"], reply=["b"]))
    assert [notice.row for notice in reading.notices] == [1]


def test_messages_may_be_a_list_of_structs():
    messages = [[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]]
    assert read(parquet(id=["1"], messages=messages)).texts == {"1": ["Hello", "Yes?"]}


def test_empty_cells_dates_and_categories():
    data = parquet(
        id=["1", "2"],
        post=["a", None],
        reply=pyarrow.array(["b", "b"]).dictionary_encode(),
        day=[date(2024, 10, 31), None],
        score=[float("nan"), 1.5],
    )
    reading = read(data)
    assert reading.lines == ["row 2, post: is empty; expected text"]
    assert reading.records[0].metadata == {"day": "2024-10-31"}


def test_a_damaged_file_is_refused_in_one_sentence():
    with pytest.raises(FileError, match="The Parquet file cannot be read"):
        read(parquet(id=["1"], post=["a"], reply=["b"])[:-20])


def test_a_file_is_bounded_by_its_unpacked_size(monkeypatch):
    monkeypatch.setattr("apps.corpus.parsing.columnar.MAX_PARQUET_BYTES", 1024 * 1024)
    n = 5000
    small = parquet(id=[str(number) for number in range(n)], post=["a" * 1000] * n, reply=["b"] * n)
    assert len(small) < 200_000
    with pytest.raises(FileError, match="would unpack to"):
        read(small)
