"""docs/agreement.md says what the report holds: no column, statistic, kind of group or reason is left out."""

from pathlib import Path

import pytest

from apps.measures.groups import GROUP_STATISTICS
from apps.measures.pairs import PAIR_STATISTICS, Convention
from apps.measures.results import Reason
from apps.measures.within import RETEST_STATISTICS
from apps.reliability.accounting import ItemUse, RaterUse
from apps.reliability.agreement import COLUMNS
from apps.reliability.matrix import ALL_RATERS, GROUP_NAMES

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "agreement.md").read_text(encoding="utf-8")
# Of draws and thresholds, which are not in the report.
ELSEWHERE = {Reason.NO_RATINGS, Reason.NO_POSITIVES}


@pytest.mark.parametrize(
    "name",
    [*COLUMNS, *PAIR_STATISTICS, *GROUP_STATISTICS, *RETEST_STATISTICS, *GROUP_NAMES.values(), *Convention, ALL_RATERS],
)
def test_every_name_is_explained(name):
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("reason", sorted(set(Reason) - ELSEWHERE))
def test_every_reason_is_explained(reason):
    assert f"| {reason} | " in TEXT


@pytest.mark.parametrize("use", [*RaterUse, *ItemUse])
def test_everything_that_can_become_of_a_rater_or_an_item_is_named(use):
    [table] = [part for part in TEXT.split("\n\n") if part.startswith("| | reasons |")]
    assert use.value.replace("repeat: its ratings", "repeat (its ratings").rstrip(")") in table
