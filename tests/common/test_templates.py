"""What holds for every template."""

import datetime as dt
import re
from pathlib import Path

from django.conf import settings
from django.template import Context, Template

# Lists of our own objects, and names that Django gives: nobody can type a key into these.
SAFE = {"form.errors.items", "column.values"}
LOOKUP = re.compile(r"\{[{%][^}]*?([\w.]+\.(?:items|keys|values))\b")
OWN_FORMAT = re.compile(r"""\|(?:date|time):["']([^"']*)["']""")
FORMATS = {"c", "DATE_FORMAT", "DATETIME_FORMAT", "TIME_FORMAT"}
# The bar of the rating screen says the hour alone.
HOUR_ALONE = {("annotation/item.html", "H:i")}


def templates() -> list[tuple[str, str]]:
    [root] = settings.TEMPLATES[0]["DIRS"]
    found = [(str(path.relative_to(root)), path.read_text()) for path in sorted(Path(root).rglob("*.html"))]
    assert len(found) > 50
    return found


def test_no_template_asks_a_mapping_for_its_items_by_a_name_that_a_key_can_have():
    """{"items": 6}.items is 6 in a template: `mapping|pairs` is what is meant."""
    found = {(name, lookup) for name, text in templates() for lookup in LOOKUP.findall(text)}
    assert {one for one in found if one[1] not in SAFE} == set()


def test_pairs_are_those_of_a_mapping_with_keys_such_as_items_and_count():
    page = Template("{% load accord %}{% for name, value in found|pairs %}{{ name }}={{ value }};{% endfor %}")
    shown = page.render(Context({"found": {"items": 6, "count": 2, "keys": "a"}}))
    assert shown == "items=6;count=2;keys=a;"


def test_dates_on_every_page_are_of_one_style():
    found = {(name, form) for name, text in templates() for form in OWN_FORMAT.findall(text)}
    assert {one for one in found if one[1] not in FORMATS} - HOUR_ALONE == set()


def test_a_date_is_short_and_a_time_has_24_hours():
    page = Template('{{ at|date:"DATE_FORMAT" }} / {{ at|date:"DATETIME_FORMAT" }} / {{ at }}')
    at = dt.datetime(2026, 12, 1, 15, 8, tzinfo=dt.UTC)
    assert page.render(Context({"at": at})) == "1 Dec 2026 / 1 Dec 2026, 15:08 / 1 Dec 2026, 15:08"
