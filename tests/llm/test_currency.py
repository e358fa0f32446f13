"""What runs cost stays in the currency it was in."""

from decimal import Decimal

import pytest

from apps.llm.models import Endpoint
from apps.llm.services.endpoints import EndpointError, currency_is_fixed, update_endpoint
from tests.llm.tried import typed
from tests.llm.worlds import answer_all, make_endpoint, make_run


def test_before_the_first_run_it_may_change(db, ada):
    endpoint = make_endpoint()
    assert not currency_is_fixed(endpoint)
    assert update_endpoint(endpoint=endpoint, by=ada, currency="EUR").currency == "EUR"


@pytest.mark.parametrize("is_answered", [False, True])
def test_with_a_run_it_stays_and_prices_may_change(grief, ada, is_answered):
    run = make_run(grief, make_endpoint(price_input=1, price_output=2))
    if is_answered:
        answer_all(run)
    with pytest.raises(EndpointError, match="Runs have costs in USD, so the currency stays") as refused:
        update_endpoint(endpoint=run.endpoint, by=ada, currency="EUR", price_input=Decimal(3))
    assert refused.value.field == "currency"
    stored = Endpoint.objects.get()
    assert (stored.currency, stored.price_input) == ("USD", 1)
    assert update_endpoint(endpoint=run.endpoint, by=ada, currency="USD", price_input=Decimal(3)).price_input == 3


def test_the_form_shows_it_and_keeps_it(grief, sign_in, ada):
    make_run(grief, make_endpoint("local"))
    client = sign_in(ada)
    assert "Runs have costs in this currency, so it stays." in client.get("/endpoints/local/edit/").text
    sent = typed(name="local", price_input="7", price_output="8", currency="EUR")
    assert client.post("/endpoints/local/edit/", sent).status_code == 302
    stored = Endpoint.objects.get()
    assert (stored.currency, stored.price_input) == ("USD", 7)
