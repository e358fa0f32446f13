"""Rows of agreement as bytes that are kept, read in part: one scale, or some statistics, of many thousand rows."""

import io
from collections.abc import Collection, Sequence
from typing import get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apps.reliability.agreement import COLUMNS, AgreementRow

_TYPES = {str: pa.string(), int: pa.int64(), float | None: pa.float64()}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in get_type_hints(AgreementRow).items()])
# Texts repeat in long runs.
_TEXTS = [name for name in COLUMNS if SCHEMA.field(name).type == pa.string()]


def pack_rows(rows: Sequence[AgreementRow]) -> bytes:
    """The rows in their order as a Parquet file."""
    columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    file = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), file, compression="zstd", use_dictionary=_TEXTS)
    return file.getvalue()


def unpack_rows(
    data: bytes,
    *,
    convention: str = "",
    block: str = "",
    framework: str = "",
    dimension: str = "",
    statistics: Collection[str] = (),
) -> list[AgreementRow]:
    """The rows in their order, narrowed by what is given. A row without a convention belongs to every one."""
    table = pq.read_table(pa.BufferReader(data))
    wanted = {"block": [block], "framework": [framework], "dimension": [dimension], "statistic": list(statistics)}
    if convention:
        wanted["convention"] = ["", convention]
    for column, values in wanted.items():
        if any(values):
            table = table.filter(pc.is_in(table[column], pa.array(values, pa.string())))
    return [AgreementRow(*row) for row in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)]
