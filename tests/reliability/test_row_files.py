from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from apps.measures.pairs import Convention
from apps.reliability import row_files
from apps.reliability.agreement import Settings, analyse
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import Kind
from apps.reliability.row_files import pack_rows, unpack_rows
from tests.reliability.conftest import make_table
from tests.reliability.strategies import studies


def packed(tables, *, resamples: int = 20) -> bytes:
    both = analyse(tables, Settings(resamples=resamples), both_conventions=True)
    return pack_rows(both.rows, both.other_rows)


@given(studies())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_both_conventions_come_out_as_each_alone_is_computed(tables):
    data = packed(tables)
    for convention in Convention:
        alone = analyse(tables, Settings(convention=convention, resamples=20))
        assert unpack_rows(data, convention=convention) == list(alone.rows)


@given(studies())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_part_is_what_is_left_of_the_whole(tables):
    data = packed(tables, resamples=0)
    whole = unpack_rows(data, convention="observed")
    key = tables[-1].key
    for narrowed in ({"block": key.block}, {"framework": key.framework}, key._asdict()):
        kept = [row for row in whole if all(getattr(row, name) == slug for name, slug in narrowed.items())]
        assert unpack_rows(data, convention="observed", **narrowed) == kept
    chosen = {"kappa_quadratic", "alpha_interval", "retest_mae"}
    assert unpack_rows(data, convention="observed", statistics=chosen) == [
        row for row in whole if row.statistic in chosen
    ]


REPEATED = make_table(
    {"expert1": [1, 1, 4, 4, 1, 2], "expert2": [1, 4, 4, 4, 2, 2], "gpt": [1, 2, 2, 4, 5, 5]},
    kinds={"gpt": Kind.LLM},
    repeats={"expert1": [1, 2, 4, 5, 1, 2]},
)


def test_a_retest_has_its_kappa_in_each_convention():
    data = packed([REPEATED])
    values = {}
    for convention in Convention:
        [row] = unpack_rows(data, convention=convention, statistics=["retest_kappa_quadratic"])
        assert row.convention == convention
        values[convention] = row.value
    assert values["scale"] != values["observed"]


def test_nothing_is_read_twice_and_nothing_else_is_read(monkeypatch):
    other = replace(REPEATED, key=REPEATED.key._replace(dimension="fluency"))
    data = packed([REPEATED, other])
    read = []
    inner = row_files._rows
    monkeypatch.setattr(
        row_files, "_rows", lambda file, groups, *others: read.append(groups) or inner(file, groups, *others)
    )
    assert {row.dimension for row in unpack_rows(data, dimension="fluency")} == {"fluency"}
    assert read == [[1]]


def test_what_is_not_there_gives_no_rows():
    data = packed([REPEATED])
    assert unpack_rows(data, block="elsewhere") == []
    assert unpack_rows(data, statistics=["mode"]) == []
    assert unpack_rows(pack_rows([], [])) == []


def test_an_unknown_convention_is_refused():
    with pytest.raises(ValueError, match="best"):
        unpack_rows(packed([REPEATED]), convention="best")


def test_rows_of_other_comparisons_are_refused():
    both = analyse([REPEATED], Settings(resamples=0), both_conventions=True)
    with pytest.raises(ValueError, match="rows in one convention"):
        pack_rows(both.rows, both.other_rows[1:])
    with pytest.raises(ValueError, match="same order"):
        pack_rows(both.rows, both.other_rows[::-1])


@pytest.mark.parametrize("cut", [0, 3, 50, -1, -9])
def test_bytes_that_were_cut_are_refused(cut):
    with pytest.raises(UnreadableError, match="damaged or cut short"):
        unpack_rows(packed([REPEATED])[:cut])


def test_every_changed_byte_of_the_figures_is_noticed():
    data = packed([REPEATED])
    assert unpack_rows(data)
    for place in range(0, len(data), 97):
        changed = bytearray(data)
        changed[place] ^= 0x10
        with pytest.raises(UnreadableError):
            unpack_rows(bytes(changed))


def test_bytes_of_another_version_are_refused_by_name(monkeypatch):
    data = packed([REPEATED])
    monkeypatch.setattr("apps.reliability.kept.FORMAT", 2)
    with pytest.raises(UnreadableError, match="format 1, and this version of Accord reads format 2"):
        unpack_rows(data)
