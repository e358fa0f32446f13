"""Tokens that no request can have taken are not believed, and no cost is too large to be kept."""

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.llm.models import CallState, Exchange, RunState
from apps.llm.services.limits import allowance_of
from apps.llm.tokens import MOST_BELIEVED
from tests.llm.engine.stubs import answer, answer_once, claims, completion
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db

LARGEST_PRICE = Decimal("999999.999999")


@pytest.fixture
def run(grief, provider):
    endpoint = make_endpoint(price_input=LARGEST_PRICE, price_output=LARGEST_PRICE, tokens_per_minute=1_000_000)
    return make_run(grief, endpoint, state=RunState.RUNNING)


@pytest.mark.parametrize("tokens", [MOST_BELIEVED + 1, 2**31 - 1, 2**31, 10**30])
@pytest.mark.parametrize("which", ["input_tokens", "output_tokens"])
def test_more_than_any_request_takes_is_not_known(run, sign_in, rosa, which, tokens):
    answer_once(run, completion(answer(), **{which: tokens}), wanted=1)
    exchange = Exchange.objects.get()
    assert (getattr(exchange, which), exchange.cost) == (None, None)
    assert "took more than 10,000,000 tokens. That is not believed" in exchange.problem
    assert exchange.call.state == CallState.DONE
    assert exchange.call.problem == ""
    page = sign_in(rosa).get(reverse("llm:call", args=[run.study.slug, run.pk, exchange.call_id]))
    assert page.status_code == 200
    assert "That is not believed" in page.text


def test_the_largest_cost_that_can_be_is_kept(run, sign_in, rosa):
    answer_once(run, completion(answer(), input_tokens=MOST_BELIEVED, output_tokens=MOST_BELIEVED), wanted=1)
    exchange = Exchange.objects.get()
    assert exchange.cost == pytest.approx(Decimal("19999999.99998"))
    assert exchange.problem == ""
    page = reverse("llm:call", args=[run.study.slug, run.pk, exchange.call_id])
    assert sign_in(rosa).get(page).status_code == 200
    assert sign_in(rosa).get(reverse("llm:run", args=[run.study.slug, run.pk])).status_code == 200


def test_rows_from_before_do_not_keep_the_endpoint_from_asking(run):
    answer_once(run, wanted=2)
    Exchange.objects.update(input_tokens=2**31 - 1, output_tokens=2**31 - 1)
    assert allowance_of(run.endpoint, timezone.now()).used_tokens == 4 * (2**31 - 1)
    run.endpoint.tokens_per_minute = None
    run.endpoint.requests_per_minute = 1_000
    run.endpoint.save()
    assert claims(run, 1).claimed
