"""The runs of a study as they are listed: how far each is, and what it has cost. No score, and no text."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum

from apps.llm.models import OPEN_CALL_STATES, CallState, Exchange, ExchangeState, Run
from apps.llm.services.progress import progress_of_many
from apps.studies.models import Study

# So many reversed runs of a run are shown with it, the newest.
REVERSED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list. calls: state -> how many. cost: of the requests whose cost is known; is_cost_known: of all."""

    run: Run
    calls: dict[str, int]
    cost: Decimal
    is_cost_known: bool

    @property
    def n_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def n_final(self) -> int:
        return self.n_calls - sum(self.calls.get(state, 0) for state in OPEN_CALL_STATES)

    @property
    def n_invalid(self) -> int:
        return self.calls.get(CallState.INVALID, 0)

    @property
    def n_failed(self) -> int:
        return self.calls.get(CallState.FAILED, 0)


def runs_of(study: Study) -> QuerySet[Run]:
    """The newest first, each with its rater, prompt version and endpoint."""
    runs = Run.objects.filter(study=study).order_by("-created_at", "-pk")
    return runs.select_related("study", "endpoint", "model_rater__rater", "model_rater__version__prompt", "created_by")


def reversed_runs_of(run: Run) -> QuerySet[Run]:
    """The runs that ask the run's questions once more, the newest first."""
    return runs_of(run.study).filter(checks=run)


def listed_runs(runs: Iterable[Run]) -> list[RunRow]:
    """Two queries, however many runs and calls there are."""
    shown = list(runs)
    counts = progress_of_many(shown)
    costs = _costs(shown)
    return [RunRow(run, counts[run.pk], *costs.get(run.pk, (Decimal(0), True))) for run in shown]


def _costs(runs: Iterable[Run]) -> dict[int, tuple[Decimal, bool]]:
    rows = (
        Exchange.objects.filter(call__run__in=runs)
        .order_by()
        .values_list("call__run")
        .annotate(total=Sum("cost"), n_unknown=Count("pk", filter=Q(state=ExchangeState.ANSWERED, cost=None)))
    )
    return {run_id: (Decimal(cost or 0), n_unknown == 0) for run_id, cost, n_unknown in rows}
