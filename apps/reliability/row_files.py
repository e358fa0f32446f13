"""Rows of agreement as bytes that are kept, read in part: one scale, or some statistics, of many thousand rows.

Both conventions stand in one file: a row that is the same in both stands once, the others beside each other, so that
each convention's rows come out in the order in which `analyse` gave them. A run of rows of one scale is a row group.
"""

import io
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from apps.measures.pairs import Convention
from apps.reliability import kept
from apps.reliability.agreement import COLUMNS, AgreementRow
from apps.reliability.matrix import TableKey

KIND = "figures"
# In which conventions a row stands, as a sum.
_BITS = {Convention.SCALE: 1, Convention.OBSERVED: 2}
_BOTH = sum(_BITS.values())
_TYPES = {str: pa.string(), int: pa.int64(), float | None: pa.float64()}
SCHEMA = pa.schema(
    [*((name, _TYPES[kind]) for name, kind in get_type_hints(AgreementRow).items()), ("conventions", pa.int8())]
)
# Texts repeat in long runs.
_TEXTS = [name for name in COLUMNS if SCHEMA.field(name).type == pa.string()]

_Stored = tuple[AgreementRow, int]


def pack_rows(scale: Sequence[AgreementRow], observed: Sequence[AgreementRow]) -> bytes:
    """The rows of both conventions in their order, as a Parquet file.

    Raises ValueError where the two are not the same comparisons in the same order.
    """
    file = io.BytesIO()
    keys = []
    with kept.writer(file, SCHEMA, use_dictionary=_TEXTS) as writer:
        for key, rows in groupby(_merged(scale, observed), key=lambda stored: _key(stored[0])):
            table = _table(list(rows))
            writer.write_table(table, row_group_size=table.num_rows)
            keys.append(list(key))
        writer.add_key_value_metadata(kept.packed_head(KIND, {"groups": keys}))
    return kept.sealed(file.getvalue())


def unpack_rows(
    data: bytes,
    *,
    convention: str = Convention.SCALE,
    block: str = "",
    framework: str = "",
    dimension: str = "",
    statistics: Collection[str] = (),
) -> list[AgreementRow]:
    """The rows of a convention as `analyse` gave them, narrowed by what is given; only those scales are read.

    Raises UnreadableError for bytes that are not whole or not understood, ValueError for an unknown convention.
    """
    bit = _BITS[Convention(convention)]
    file, head = kept.opened(data, KIND)
    wanted = TableKey(block, framework, dimension)
    with kept.reading():
        groups = [
            place
            for place, key in enumerate(head["groups"])
            if all(not slug or slug == own for slug, own in zip(wanted, key, strict=True))
        ]
        return _rows(file, groups, bit, statistics)


def _rows(file: pq.ParquetFile, groups: list[int], bit: int, statistics: Collection[str]) -> list[AgreementRow]:
    table = file.read_row_groups(groups, columns=SCHEMA.names) if groups else SCHEMA.empty_table()
    chosen = pc.is_in(table["conventions"], pa.array([bit, _BOTH], pa.int8()))
    if statistics:
        chosen = pc.and_(chosen, pc.is_in(table["statistic"], pa.array(sorted(statistics), pa.string())))
    table = table.filter(chosen)
    return [AgreementRow(*row) for row in zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)]


def _merged(scale: Sequence[AgreementRow], observed: Sequence[AgreementRow]) -> Iterator[_Stored]:
    """Each row with the conventions it stands in."""
    if len(scale) != len(observed):
        raise ValueError(f"{len(scale)} rows in one convention and {len(observed)} in the other")
    for one, other in zip(scale, observed, strict=True):
        if (*_key(one), one.statistic, one.a, one.b) != (*_key(other), other.statistic, other.a, other.b):
            raise ValueError("the rows of the two conventions are not of the same comparisons in the same order")
        if one == other:
            yield one, _BOTH
        else:
            yield one, _BITS[Convention.SCALE]
            yield other, _BITS[Convention.OBSERVED]


def _key(row: AgreementRow) -> TableKey:
    return TableKey(row.block, row.framework, row.dimension)


def _table(stored: list[_Stored]) -> pa.Table:
    columns = {name: [getattr(row, name) for row, _ in stored] for name in COLUMNS}
    columns["conventions"] = [conventions for _, conventions in stored]
    return pa.table(columns, schema=SCHEMA)
