"""Short names made from names, by the server and, while one types, by the page."""

import re

import pytest
from django.conf import settings

from apps.common.slugs import SPELLED_OUT, slug_from

NAMES = {
    "Wie gut hörten sie zu?": "wie-gut-hoerten-sie-zu",
    "Große Übung, Ärger": "grosse-uebung-aerger",
    "decomposed o\u0308": "decomposed-oe",
    "GROẞ": "gross",
    "Ærø på Ålborg": "aeroe-paa-aalborg",
    "Œuvre d’été": "oeuvre-dete",
    "Łódź Đorđe": "lodz-dorde",
    "Þórr": "thorr",
    "Night & Day 2026": "night-day-2026",
    "  _-so-_ ": "so",
    "聴く": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_letters_with_marks_are_spelled_out(name):
    assert slug_from(name) == NAMES[name]


def test_the_page_spells_out_the_same_letters():
    script = (settings.BASE_DIR / "static/js/slug.js").read_text()
    assert dict(re.findall(r'"([^"a-z])": "([a-z]+)"', script)) == SPELLED_OUT
