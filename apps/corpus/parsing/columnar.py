"""Parquet by pyarrow, one batch of rows at a time."""

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow
import pyarrow.parquet

from apps.corpus.parsing.limits import MAX_PARQUET_BYTES, MAX_ROWS, MEBIBYTE
from apps.corpus.parsing.records import FileError, Finding
from apps.corpus.parsing.tables import Row, check_headers

BATCH_ROWS = 256


class ParquetRows:
    """The rows of a Parquet file, numbered from 1. `columns` is read at once; iterating yields rows."""

    def __init__(self, file: BinaryIO) -> None:
        file.seek(0)
        try:
            self._parquet = pyarrow.parquet.ParquetFile(file)
        except Exception as error:
            # pyarrow raises errors of its own and of Python for a damaged file.
            raise FileError(f"The Parquet file cannot be read: {_reason(error)}.") from None
        about = self._parquet.metadata
        if about.num_rows > MAX_ROWS:
            raise FileError(f"The file has {about.num_rows:,} rows; at most {MAX_ROWS:,} are allowed.")
        unpacked = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        _check_size(unpacked)
        self.columns = check_headers(list(self._parquet.schema_arrow.names))

    def __iter__(self) -> Iterator[Row | Finding]:
        number = unpacked = 0
        batches = self._parquet.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                # A dictionary may unpack to far more than the file declares.
                unpacked += batch.nbytes
                _check_size(unpacked)
                records = batch.to_pylist()
            except Exception as error:
                if isinstance(error, FileError):
                    raise
                raise FileError(f"The Parquet file cannot be read: {_reason(error)}.") from None
            for record in records:
                number += 1
                yield Row(number, dict(zip(self.columns, record.values(), strict=True)))


def _check_size(unpacked: int) -> None:
    if unpacked > MAX_PARQUET_BYTES:
        raise FileError(
            f"The file would unpack to {unpacked / MEBIBYTE:,.0f} MiB; "
            f"at most {MAX_PARQUET_BYTES // MEBIBYTE} MiB are allowed."
        )


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")[:200] if str(error) else type(error).__name__
