"""A run's questions put to the model once more with the points reversed: made and started, or neither."""

from django.db import transaction

from apps.accounts.models import User
from apps.llm.models import Run
from apps.llm.services.consent import leave_problem
from apps.llm.services.controls import start_run
from apps.llm.services.planning import PlanError, create_reversed_run


@transaction.atomic
def ask_again(*, run: Run, n_items: int, by: User) -> Run:
    """The reversed run, started; the caller triggers its endpoint. The study's seed draws the items.

    Raises PlanError, RunError, and nothing is written.
    """
    if problem := leave_problem(study=run.study, endpoint=run.endpoint):
        raise PlanError(problem)
    check = create_reversed_run(run=run, n_items=n_items, seed=run.study.seed, by=by)
    start_run(run=check, by=by)
    return check
