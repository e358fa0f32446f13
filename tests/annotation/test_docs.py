"""docs/importing-ratings.md says what the commands do."""

import re
from pathlib import Path

from django.core.management import get_commands, load_command_class

from apps.annotation.parsing.mapping import DIMENSION_PREFIXES, FIELDS
from apps.annotation.rating_export import COLUMNS, FORMATS
from apps.studies.models import ItemRole, RaterKind

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "importing-ratings.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"`([^`\n]+)`", DOCS))


def test_every_column_field_kind_and_role_is_explained():
    names = {*COLUMNS, *FIELDS, *RaterKind.values, *ItemRole.values}
    assert names - WORDS == set()
    assert all(suffix in DOCS for suffix in FORMATS)


def test_every_prefix_that_is_guessed_is_named():
    assert {prefix for prefix in DIMENSION_PREFIXES if not prefix.endswith(".")} - WORDS == set()


def test_every_option_in_the_examples_exists():
    options = set()
    for name in ("import_ratings", "import_kumar2026", "export_ratings", "agreement"):
        command = load_command_class(get_commands()[name], name)
        options |= set(command.create_parser("manage.py", name)._option_string_actions)
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", DOCS)) - options == set()
