"""Plumbing that the apps' endpoints share."""

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import JSONParser


class Pages(PageNumberPagination):
    """Every list of the API comes in pages: `?page=2&page_size=100`."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500


class PlainJSONParser(JSONParser):
    """JSON that can be stored, and said again in an answer: whole characters, and nested no deeper than is read.

    Raises ParseError in a sentence.
    """

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        try:
            data = super().parse(stream, media_type, parser_context)
            json.dumps(data, ensure_ascii=False).encode()
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None
        except UnicodeEncodeError:
            raise ParseError(_("The JSON holds half of a surrogate pair, which is not a character.")) from None
        return data
