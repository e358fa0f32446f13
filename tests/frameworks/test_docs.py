"""docs/frameworks.md against the code."""

import re
from pathlib import Path

from apps.frameworks.framework_file import DIMENSION_KEYS, FRAMEWORK_KEYS, parse_framework
from apps.frameworks.services.catalog import builtin_frameworks, example_framework

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")


def test_the_example_file_is_a_framework_and_shows_every_field():
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    assert example == example_framework()
    spec = parse_framework(example)
    assert [dimension.level for dimension in spec.dimensions] == ["ordinal", "nominal"]
    shown = set(re.findall(r"^[ -]*(\w+):", example, flags=re.MULTILINE))
    # minimum and maximum are told in words: who leaves them out cannot get them wrong.
    assert {*FRAMEWORK_KEYS, *DIMENSION_KEYS} - shown == {"minimum", "maximum"}


def test_the_table_lists_every_built_in_framework_and_scale():
    rows = {row.split("`")[1]: row for row in TEXT.splitlines() if row.startswith("| `")}
    assert {slug: set(re.findall(r"`(\w+)`", row.split("|")[2])) for slug, row in rows.items()} == {
        framework.slug: {dimension.slug for dimension in framework.dimensions} for framework in builtin_frameworks()
    }
