"""How the checks for bias of a run stand: the latest results, what came since, and what asking again would take."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Max, Q, Sum

from apps.common.models import Job
from apps.llm.models import BiasCheck, Call, CallState, Exchange, ExchangeState, Run
from apps.llm.services.baselines import experts_changed_at
from apps.llm.services.bias import CheckResults, ResultsError
from apps.llm.services.comparable import calls_to_ask_again
from apps.studies.models import Exclusion

# Of a reversed run, where nobody says how many.
USUAL_ITEMS = 50


@dataclass(frozen=True, slots=True)
class AskingAgain:
    """What a reversed run would take: it asks each question of its items once.

    n_answered: items with an answer that the checks can compare. n_items: how many of them are usual, all where they
    are fewer. The costs are by what the first asking cost, None where that is not known or the endpoint has no prices.
    """

    n_answered: int
    n_items: int
    n_calls: int
    cost: Decimal | None
    currency: str

    @property
    def calls_by_item(self) -> float:
        return self.n_calls / self.n_answered if self.n_answered else 0.0

    @property
    def sampled_calls(self) -> int:
        return round(self.calls_by_item * self.n_items)

    @property
    def cost_by_item(self) -> Decimal | None:
        return None if self.cost is None or not self.n_answered else self.cost / self.n_answered

    @property
    def sampled_cost(self) -> Decimal | None:
        return None if self.cost_by_item is None else self.cost_by_item * self.n_items


@dataclass(frozen=True, slots=True)
class CheckState:
    """results: of the last check that was computed; problem: why they cannot be read. job: of the last check asked for.

    has_answers: something of the run is answered. has_new_answers, has_new_experts: what has come since the results
    were computed.
    """

    run: Run
    results: CheckResults | None
    problem: str
    job: Job | None
    has_answers: bool
    has_new_answers: bool
    has_new_experts: bool
    reversed_runs: tuple[Run, ...]
    asking_again: AskingAgain


def check_state(run: Run) -> CheckState:
    """A constant number of queries. `run` comes with its endpoint, study and model rater."""
    last = run.bias_checks.select_related("job").first()
    results, problem = _results(run.bias_checks.exclude(results={}).first())
    again = tuple(run.reversed_runs.order_by("-pk"))
    computed_at = results.computed_at if results else None
    return CheckState(
        run=run,
        results=results,
        problem=problem,
        job=last.job if last else None,
        has_answers=run.calls.filter(state=CallState.DONE, sample=0).exists(),
        has_new_answers=_came_since(computed_at, _changed_at(run)),
        has_new_experts=_came_since(computed_at, experts_changed_at(run.study)),
        reversed_runs=again,
        asking_again=asking_again(run),
    )


def latest_results(runs: Iterable[Run]) -> dict[int, CheckResults]:
    """run -> the results of its last check that was computed; what cannot be read is left out. One query."""
    found: dict[int, CheckResults] = {}
    for check in BiasCheck.objects.filter(run__in=list(runs)).exclude(results={}).order_by("created_at", "pk"):
        results, _problem = _results(check)
        if results is not None:
            found[check.run_id] = results
    return found


def _results(check: BiasCheck | None) -> tuple[CheckResults | None, str]:
    if check is None:
        return None, ""
    try:
        return CheckResults.read(check.results), ""
    except ResultsError as problem:
        return None, str(problem)


def _came_since(computed_at: datetime | None, at: datetime | None) -> bool:
    return computed_at is not None and at is not None and computed_at < at


def _changed_at(run: Run) -> datetime | None:
    """When the last answer came, or what is left out of them last changed."""
    answered = Call.objects.filter(Q(run=run) | Q(run__checks=run), state__in=(CallState.DONE, CallState.INVALID))
    excluded = Exclusion.objects.filter(rater=run.model_rater.rater_id)
    times = [
        answered.aggregate(at=Max("finished_at"))["at"],
        *excluded.aggregate(made=Max("created_at"), taken_back=Max("reverted_at")).values(),
    ]
    return max((at for at in times if at is not None), default=None)


def asking_again(run: Run) -> AskingAgain:
    """What asking again would take, by what the answers so far took. Three queries."""
    answered = calls_to_ask_again(run)
    counts = answered.aggregate(calls=Count("pk"), items=Count("item", distinct=True))
    paid = Exchange.objects.filter(call__in=answered, state=ExchangeState.ANSWERED).aggregate(
        total=Sum("cost"), unknown=Count("pk", filter=Q(cost=None))
    )
    is_known = run.endpoint.has_prices and paid["total"] is not None and not paid["unknown"]
    return AskingAgain(
        n_answered=counts["items"],
        n_items=min(USUAL_ITEMS, counts["items"]),
        n_calls=counts["calls"],
        cost=Decimal(paid["total"]) if is_known else None,
        currency=run.endpoint.currency,
    )
