"""A run's questions put to the model once more with the points reversed: made and started, or neither."""

from decimal import ROUND_DOWN, Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.llm.models import Run
from apps.llm.services.bias_state import asking_again
from apps.llm.services.consent import leave_problem
from apps.llm.services.controls import start_run
from apps.llm.services.limits import purse_of
from apps.llm.services.planning import PlanError, create_reversed_run
from apps.llm.services.run_states import lock_runs


@transaction.atomic
def ask_again(*, run: Run, n_items: int, by: User) -> Run:
    """The reversed run, started; the caller triggers its endpoint. The study's seed draws the items.

    One at a time: while the run is being asked again, it is not paid for a second time. Where the run has a budget,
    what asking again costs comes out of it.
    Raises PlanError, RunError, and nothing is written.
    """
    if problem := leave_problem(study=run.study, endpoint=run.endpoint):
        raise PlanError(problem)
    # Of two who ask at once, the second sees what the first has made.
    run = lock_runs([run.pk])[run.pk]
    if under_way := run.reversed_runs.open().first():
        raise PlanError(
            _("Run %(number)s asks this again already: wait until it is done, or cancel it.") % {"number": under_way.pk}
        )
    check = create_reversed_run(run=run, n_items=n_items, seed=run.study.seed, budget=_budget_for(run, n_items), by=by)
    start_run(run=check, by=by)
    return check


def left_of_budget(run: Run) -> Decimal | None:
    """What asking the run again may cost, in whole cents: 0 for nothing, None for a run without a budget. A query."""
    left = purse_of(run, run.endpoint).left
    return None if left is None else max(Decimal(0), left.quantize(Decimal("0.01"), ROUND_DOWN))


def _budget_for(run: Run, n_items: int) -> Decimal | None:
    """All that is left of the run's budget. Raises PlanError where that is not enough for so many items."""
    left = left_of_budget(run)
    if left is None:
        return None
    again = asking_again(run)
    n_asked = min(n_items, again.n_answered)
    price = None if again.cost_by_item is None else again.cost_by_item * n_asked
    known = {"left": left, "currency": again.currency, "budget": run.budget}
    if not left:
        raise PlanError(
            _("The run's budget of %(budget)s %(currency)s is used up, and asking again would cost more.") % known
        )
    if price is not None and price > left:
        raise PlanError(
            _(
                "Asking again about %(n)s items costs about %(price)s %(currency)s, and %(left)s %(currency)s are left "
                "of the run's budget. Choose fewer items."
            )
            % (known | {"n": n_asked, "price": f"{price:.2f}"})
        )
    return left
