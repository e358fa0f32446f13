"""One meaning of "partial"."""

import pytest
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from apps.common.htmx import wants_partial


@pytest.mark.parametrize(
    ("headers", "partial"),
    [
        ({}, False),
        ({"hx-request": "true"}, True),
        ({"hx-request": "true", "hx-boosted": "true"}, False),
        ({"hx-request": "true", "hx-history-restore-request": "true"}, False),
    ],
)
def test_only_htmx_itself_gets_a_piece(headers, partial):
    request = RequestFactory().get("/", headers=headers)
    request.htmx = HtmxDetails(request)
    assert wants_partial(request) is partial
