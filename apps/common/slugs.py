"""Short names made from names. `static/js/slug.js` shows the same while a name is typed."""

import unicodedata

from django.utils.text import slugify

# As they are written where a keyboard lacks them; of other letters with marks the mark is dropped.
SPELLED_OUT = {
    "ä": "ae",
    "ö": "oe",
    "ü": "ue",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "oe",
    "å": "aa",
    "þ": "th",
    "ð": "d",
    "đ": "d",
    "ł": "l",
    "ı": "i",
}
_TABLE = str.maketrans(SPELLED_OUT)


def slug_from(name: str) -> str:
    """Small letters a to z, digits, hyphens and underscores; empty where the name has none of them.

    "Wie gut hörten sie zu?" becomes "wie-gut-hoerten-sie-zu".
    """
    return slugify(unicodedata.normalize("NFC", name).lower().translate(_TABLE))
