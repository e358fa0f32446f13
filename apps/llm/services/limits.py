"""What an endpoint and a budget allow at this moment, counted from the requests that are rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import BigIntegerField, Count, Min, Q, Sum
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext as _

from apps.llm.models import Endpoint, Exchange, ExchangeState, Run
from apps.llm.services.asking import Asked

WINDOW = timedelta(seconds=60)
LOOK_AGAIN = timedelta(seconds=1)


@dataclass(slots=True)
class Allowance:
    """Requests and tokens that may be sent to an endpoint now; None: as many as one likes.

    used_tokens: of the last minute. full_until: when the first of them drop out of the minute, or are back.
    """

    requests: int | None
    tokens: int | None
    used_tokens: int = 0
    full_until: datetime | None = None

    def take(self, tokens: int) -> bool:
        """Whether one request more of so many tokens may be sent; it is counted then.

        A request of more tokens than a whole minute allows is sent when nothing else was: else it never would be.
        """
        if self.requests is not None and self.requests < 1:
            return False
        if self.tokens is not None and self.used_tokens and self.used_tokens + tokens > self.tokens:
            return False
        if self.requests is not None:
            self.requests -= 1
        self.used_tokens += tokens
        return True


def allowance_of(endpoint: Endpoint, now: datetime) -> Allowance:
    """At most one query, for an endpoint with a limit.

    What is not back may have left at any time since it was claimed, up to this moment or up to when it was lost: so it
    counts. Else a minute could have more requests than the limit, of those that were claimed a while ahead.
    """
    if endpoint.requests_per_minute is None and endpoint.tokens_per_minute is None:
        return Allowance(None, None)
    # Wide before they are added: two columns that are full would be more than their own type holds.
    read, written, estimated = (
        Cast(name, BigIntegerField()) for name in ("input_tokens", "output_tokens", "estimated_tokens")
    )
    tokens = Coalesce(read + written, estimated, output_field=BigIntegerField())
    lately = now - WINDOW
    is_recent = Q(sent_at__gt=lately) | Q(state=ExchangeState.SENT) | Q(state=ExchangeState.LOST, ended_at__gt=lately)
    recent = Exchange.objects.filter(is_recent, endpoint=endpoint)
    sums = recent.order_by().aggregate(n=Count("pk"), tokens=Sum(tokens), first=Min("sent_at"))
    left = None if endpoint.requests_per_minute is None else endpoint.requests_per_minute - sums["n"]
    full_until = None if sums["first"] is None else max(sums["first"] + WINDOW, now + LOOK_AGAIN)
    return Allowance(left, endpoint.tokens_per_minute, sums["tokens"] or 0, full_until)


@dataclass(slots=True)
class Purse:
    """What is left of a run's budget. left None: there is no budget. problem: why it cannot be kept to.

    in_flight: requests that something is set aside for, and that may still cost less. above: the purse of the run that
    is asked again, which pays for that, too.
    """

    endpoint: Endpoint
    left: Decimal | None = None
    in_flight: int = 0
    problem: str = ""
    above: "Purse | None" = None

    @property
    def may_get_more(self) -> bool:
        """Whether something set aside may come back."""
        return bool(self.in_flight) or (self.above is not None and self.above.may_get_more)

    def can_pay(self, asked: Asked) -> bool:
        if self.above is not None and not self.above.can_pay(asked):
            return False
        if self.left is None:
            return True
        cost = self._estimate(asked)
        return cost is not None and cost <= self.left

    def pay(self, asked: Asked) -> None:
        """Sets the estimate aside."""
        if self.above is not None:
            self.above.pay(asked)
        self.in_flight += 1
        if self.left is not None:
            self.left -= self._estimate(asked) or Decimal(0)

    def _estimate(self, asked: Asked) -> Decimal | None:
        return self.endpoint.cost_of(asked.prompt_tokens, asked.parameters.max_tokens)


def purses_of(runs: Iterable[Run], endpoint: Endpoint) -> dict[int, Purse]:
    """run -> its purse; a run and those that ask it again pay out of one. At most three queries for each run."""
    purses: dict[int, Purse] = {}
    runs = sorted(runs, key=lambda run: run.is_check)  # the runs that are asked again come first
    for run in runs:
        purses[run.pk] = purse_of(run, endpoint)
    above: dict[int, Purse] = dict(purses)
    for run in runs:
        if run.checks is not None:
            if run.checks.pk not in above:
                above[run.checks.pk] = purse_of(run.checks, endpoint)
            purses[run.pk].above = above[run.checks.pk]
    return purses


def purse_of(run: Run, endpoint: Endpoint) -> Purse:
    """What was not spent yet and is not set aside for requests whose cost is not known (yet). At most one query.

    What its reversed runs spend counts towards its budget. Not known is the cost of requests that are in flight, were
    lost on their way, had no answer in time, or were answered without saying how many tokens they took: each counts as
    its estimate, since it may be billed.
    """
    if run.budget is None:
        return Purse(endpoint)
    if endpoint.price_input is None or endpoint.price_output is None:
        problem = _("The prices of the endpoint are not known, so no budget can be kept to.")
        return Purse(endpoint, Decimal(0), problem=problem)
    unknown = Q(cost=None) & (~Q(state=ExchangeState.FAILED) | Q(may_be_billed=True))
    sums = (
        Exchange.objects.filter(
            call__run__in=Run.objects.filter(Q(pk=run.pk) | Q(checks=run.pk)).order_by().values("pk")
        )
        .order_by()
        .aggregate(
            spent=Sum("cost"),
            n=Count("pk", filter=unknown),
            in_flight=Count("pk", filter=Q(state=ExchangeState.SENT)),
            tokens=Sum("estimated_tokens", filter=unknown),
        )
    )
    answer = int(run.model_rater.parameters.get("max_tokens", endpoint.reply_tokens))
    n_answers = sums["n"] * answer
    aside = endpoint.cost_of(max(0, (sums["tokens"] or 0) - n_answers), n_answers)
    left = run.budget - (sums["spent"] or Decimal(0)) - (aside or Decimal(0))
    return Purse(endpoint, left, sums["in_flight"])
