"""docs/reports.md names every format, file and column that a report has, and every option that shows a part of it."""

from pathlib import Path

import pytest
from django.core.management import load_command_class

from apps.reports.contents import Format, Part, Stars
from apps.reports.long_table import ITEM_COLUMNS, RATING_COLUMNS
from tests.reports.test_archive import MEMBERS
from tests.reports.test_xlsx import SHEETS

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "reports.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Format)
def test_every_format_is_explained(name):
    assert f"| `{name}`" in TEXT or f"`{name}` | " in TEXT


def test_every_member_of_the_archive_is_named():
    for name in MEMBERS:
        assert f"`{name.partition('/')[0]}" in TEXT


def test_every_column_and_sheet_is_named():
    assert f"`{','.join(RATING_COLUMNS)}`" in TEXT
    assert f"`{','.join(ITEM_COLUMNS)}`" in TEXT
    assert ", ".join(SHEETS) in TEXT


def test_every_option_of_the_command_is_explained():
    text = TEXT + (DOCS / "agreement.md").read_text(encoding="utf-8")
    parser = load_command_class("apps.reports", "agreement").create_parser("manage.py", "agreement")
    own = [one for one in parser._actions if one.option_strings and one.container is not parser]
    usual = {"--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color"}
    names = {name for one in own for name in one.option_strings if name.startswith("--")} - usual
    names -= {"--force-color", "--skip-checks"}
    assert {"--where", "--parts", "--formats", "--study"} <= names
    for name in names:
        assert name in text


def test_every_part_and_star_rule_is_named():
    assert ",".join(Part) in TEXT
    assert "|".join(Stars) in TEXT
