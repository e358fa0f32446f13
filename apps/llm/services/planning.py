"""Runs are planned and made: which calls there are, before anything is sent. Starting them is `controls`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.inserting import insert_rows
from apps.common.models import AuditEntry
from apps.llm.models import Call, CallState, Endpoint, ModelRater, PromptVersion, Run
from apps.llm.services.comparable import calls_to_ask_again
from apps.llm.services.estimating import Estimate, EstimateError, PromptSizes, estimate_of
from apps.llm.services.run_items import (
    LeftOut,
    Question,
    RunItem,
    RunSelection,
    counted,
    in_asking_order,
    sieved,
    without_items,
)
from apps.studies.allocation import sample_items
from apps.studies.models import Study, StudyStatus

__all__ = [
    "LeftOut",
    "PlanError",
    "RunPlan",
    "RunSelection",
    "create_reversed_run",
    "create_run",
    "plan_run",
]

MOST_CALLS = 200_000
# So many of the items left out are kept with a run by name; all are counted.
NAMED_LEFT_OUT = 200
ROWS_AT_ONCE = 5_000
CALL_COLUMNS = (
    "run_id",
    "key",
    "position",
    "item_id",
    "framework_id",
    "dimension_id",
    "sample",
    "state",
    "attempts",
    "is_repair",
    "problem",
    "created_at",
    "updated_at",
)

CallRow = tuple[str, int, int, int | None, int]  # key, item, framework, dimension, sample


class PlanError(ValueError):
    """There can be no such run; the message says why in a sentence."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run would ask. left_out: every item that it does not ask about, with the reason."""

    questions: tuple[Question, ...]
    left_out: tuple[tuple[RunItem, LeftOut], ...]
    samples: int
    estimate: Estimate

    @property
    def items(self) -> list[RunItem]:
        """Those asked about, each once, in order."""
        return list({question.item.pk: question.item for question in self.questions}.values())

    @property
    def n_calls(self) -> int:
        return len(self.questions) * self.samples

    @property
    def left_out_counts(self) -> dict[str, int]:
        """reason -> how many items."""
        return counted(self.left_out)


def plan_run(
    *,
    study: Study,
    version: PromptVersion,
    endpoint: Endpoint,
    samples: int,
    selection: RunSelection,
    model_rater: ModelRater | None = None,
) -> RunPlan:
    """What a run would ask the rater, or with None one that was never asked; it may be empty.

    A constant number of queries. Raises PlanError where a prompt of the version cannot be made.
    """
    found = sieved(study=study, version=version, selection=selection, model_rater=model_rater)
    try:
        sizes = PromptSizes(version, found)
    except EstimateError as error:
        raise PlanError(str(error)) from error
    fitting = without_items(found, sizes.too_long(found.questions, endpoint))
    estimate = estimate_of(fitting.questions, sizes, version=version, endpoint=endpoint, samples=samples)
    return RunPlan(fitting.questions, fitting.left_out, samples, estimate)


@transaction.atomic
def create_run(
    *,
    study: Study,
    model_rater: ModelRater,
    selection: RunSelection,
    budget: Decimal | None = None,
    by: User | None,
    endpoint: Endpoint | None = None,
) -> Run:
    """A run that is ready to start, with all its calls. endpoint: another one of the same model; else the rater's own.

    Raises PlanError, and nothing is written.
    """
    # Of two runs made at once, the second sees what the first asks.
    model_rater = ModelRater.objects.select_for_update().get(pk=model_rater.pk)
    endpoint = endpoint or model_rater.endpoint
    _check_same_model(model_rater, endpoint)
    _check(study, endpoint, budget)
    plan = plan_run(
        study=study,
        version=model_rater.version,
        endpoint=endpoint,
        samples=model_rater.samples,
        selection=selection,
        model_rater=model_rater,
    )
    _check_size(plan.n_calls, plan.left_out_counts)
    run = Run.objects.create(
        study=study,
        model_rater=model_rater,
        endpoint=endpoint,
        budget=budget,
        left_out=[[item.block, item.external_id, reason.value] for item, reason in plan.left_out[:NAMED_LEFT_OUT]],
        left_out_counts=plan.left_out_counts,
        created_by=by,
    )
    _insert_calls(run, _calls_of(in_asking_order(plan.questions), plan.samples))
    _remember(run, by, n_calls=plan.n_calls, n_items=len(plan.items))
    return run


@transaction.atomic
def create_reversed_run(
    *, run: Run, n_items: int, seed: int = 2026, budget: Decimal | None = None, by: User | None
) -> Run:
    """A run that asks once more, points reversed, about a seeded sample of the items answered; for comparison only.

    Drawn from what the checks compare (`comparable`): an answer that they drop would be paid for nothing. Where fewer
    are answered, all of them. Raises PlanError, and nothing is written.
    """
    if run.is_check:
        raise PlanError(_("This run is a check itself: choose the run that it checks."))
    if n_items < 1:
        raise PlanError(_("Items to ask about again: at least 1."))
    _check(run.study, run.endpoint, budget)
    answered = calls_to_ask_again(run)
    lots = {f"{block}/{role}/{external_id}": pk for pk, block, role, external_id in _named_items(answered)}
    drawn = {lots[lot] for lot in sample_items(lots, min(n_items, len(lots)), seed)}
    rows: list[CallRow] = list(
        answered.filter(item__in=drawn)
        .order_by("position")
        .values_list("key", "item_id", "framework_id", "dimension_id", "sample")
    )
    if not rows:
        raise PlanError(
            _("Nothing of this run can be compared yet: no main item that its rater is not excluded from has a score.")
        )
    _check_size(len(rows), {})
    check = Run.objects.create(
        study=run.study,
        model_rater=run.model_rater,
        endpoint=run.endpoint,
        checks=run,
        budget=budget,
        created_by=by,
    )
    _insert_calls(check, rows)
    _remember(check, by, n_calls=len(rows), n_items=len(drawn), checks=run.pk)
    return check


# --- What there can be no run of ------------------------------------------------------------------------------------


def _check(study: Study, endpoint: Endpoint, budget: Decimal | None) -> None:
    status = Study.objects.values_list("status", flat=True).get(pk=study.pk)
    if status == StudyStatus.DRAFT:
        raise PlanError(_("The study is a draft, and its items may still change: activate it first."))
    if endpoint.retired_at is not None:
        raise PlanError(_("%(endpoint)s is retired: choose another endpoint.") % {"endpoint": endpoint.name})
    if problem := budget_problem(endpoint, budget):
        raise PlanError(problem)


def budget_problem(endpoint: Endpoint, budget: Decimal | None) -> str:
    """Why there can be no such budget, in a sentence; "" where there can."""
    if budget is None:
        return ""
    if not endpoint.has_prices:
        return _("%(endpoint)s has no prices, so no budget can be kept: leave it empty.") % {"endpoint": endpoint.name}
    if not budget.is_finite() or budget <= 0:
        return _("Budget: more than 0, or empty for none.")
    return ""


def _check_same_model(model_rater: ModelRater, endpoint: Endpoint) -> None:
    same = ("provider", "base_url", "model", "response_format")
    if any(getattr(model_rater, name) != getattr(endpoint, name) for name in same):
        raise PlanError(
            _("%(endpoint)s is not what %(rater)s answers at.") % {"endpoint": endpoint.name, "rater": model_rater}
        )


def _check_size(n_calls: int, left_out: dict[str, int]) -> None:
    if n_calls > MOST_CALLS:
        raise PlanError(
            _("This run would ask %(n)s times, and a run has at most %(most)s calls: choose fewer items or samples.")
            % {"n": f"{n_calls:,}", "most": f"{MOST_CALLS:,}"}
        )
    if n_calls:
        return
    if not left_out:
        raise PlanError(_("There is nothing to ask: no item is chosen."))
    reasons = "; ".join(f"{LeftOut(reason).label}: {n:,}" for reason, n in left_out.items())
    raise PlanError(_("There is nothing to ask. Items left out: %(reasons)s.") % {"reasons": reasons})


# --- Rows -----------------------------------------------------------------------------------------------------------


def _calls_of(questions: Sequence[Question], samples: int) -> Iterator[CallRow]:
    """Samples of a question stand together, so that its rating does not wait for the end of the run."""
    for question in questions:
        scale = question.scale
        for sample in range(samples):
            yield question.key(sample), question.item.pk, scale.framework_id, scale.dimension_id, sample


def _insert_calls(run: Run, rows: Iterable[CallRow]) -> None:
    now = timezone.now()
    called = _call_values(run, rows, now)
    while batch := list(islice(called, ROWS_AT_ONCE)):
        insert_rows(Call, CALL_COLUMNS, batch)


def _call_values(run: Run, rows: Iterable[CallRow], now: datetime) -> Iterator[tuple[Any, ...]]:
    at = connection.ops.adapt_datetimefield_value(now)
    state = CallState.PENDING.value
    for position, (key, item_id, framework_id, dimension_id, sample) in enumerate(rows):
        yield run.pk, key, position, item_id, framework_id, dimension_id, sample, state, 0, False, "", at, at


def _named_items(calls: Any) -> Any:
    """pk, block, role and external id of the items of calls, each once."""
    return (
        calls.order_by()
        .values_list("item_id", "item__block__slug", "item__role", "item__conversation__external_id")
        .distinct()
    )


def _remember(run: Run, by: User | None, **details: Any) -> None:
    AuditEntry.objects.create(
        actor=by,
        action="run.create",
        subject=run.study.slug,
        details={"run": run.pk, "rater": run.model_rater.rater.name, "endpoint": run.endpoint.name, **details},
    )
