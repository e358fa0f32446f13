"""A run from what a form or a command says: its rater, the leave to send text, and its calls, all or nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.llm.models import Endpoint, ModelRater, PromptVersion, Run
from apps.llm.services.consent import give_consent, leave_problem, needs_consent
from apps.llm.services.endpoints import facts_of
from apps.llm.services.model_raters import (
    checked_name,
    checked_parameters,
    ensure_model_rater,
    find_model_rater,
    suggested_name,
)
from apps.llm.services.planning import PlanError, RunPlan, RunSelection, budget_problem, create_run, plan_run
from apps.llm.services.prompting import default_version, versions_of
from apps.llm.templates import Use
from apps.studies.models import Study

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What somebody asks for. version: or a use, for the study's newest prompt of that use, else the default one.

    confirms: that the study's text may leave for the endpoint.
    """

    endpoint: Endpoint
    version: PromptVersion | Use = Use.SCALE
    temperature: float | None = None
    seed: int | None = None
    samples: int = 1
    name: str = ""
    selection: RunSelection = field(default_factory=RunSelection)
    budget: Decimal | None = None
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What the order would make. is_known: the rater is there already; else one called `name` is made."""

    plan: RunPlan
    version: str
    name: str
    is_known: bool


def preview_run(*, study: Study, order: RunOrder, by: User | None) -> Preview:
    """What the order would make; nothing stays written. Raises as `make_run` does, but for an empty plan."""

    def look() -> Preview:
        version = _version(study, order, by)
        parameters = checked_parameters(
            order.endpoint, temperature=order.temperature, seed=order.seed, samples=order.samples
        )
        name = checked_name(order.name)
        if problem := budget_problem(order.endpoint, order.budget):
            raise PlanError(problem)
        known = find_model_rater(version=version, endpoint=order.endpoint, parameters=parameters, samples=order.samples)
        plan = plan_run(
            study=study,
            version=version,
            endpoint=order.endpoint,
            samples=order.samples,
            selection=order.selection,
            model_rater=known,
        )
        taken = study.raters.values_list("name", flat=True)
        new = name or suggested_name(version, order.endpoint, order.samples, taken)
        return Preview(plan, str(version), known.rater.name if known else new, known is not None)

    # A look at a study's own prompt writes nothing, and must not keep others from writing.
    return look() if _is_stored(study, order) else _taken_back(look)


@transaction.atomic
def make_run(*, study: Study, order: RunOrder, by: User | None) -> Run:
    """The run, ready to start. Whoever asks for it manages the study: the caller sees to that.

    The endpoint of the order is as it was when it was looked at; one that was changed since is refused.

    Raises PlanError, ModelRaterError (with a field), PromptingError or ConsentError, a sentence each; then nothing is
    written.
    """
    if order.confirms and needs_consent(study=study, endpoint=order.endpoint):
        give_consent(study=study, endpoint=order.endpoint, by=by)
    if facts_of(Endpoint.objects.get(pk=order.endpoint.pk)) != facts_of(order.endpoint):
        raise PlanError(
            _("The endpoint %(endpoint)s was changed just now: estimate again.") % {"endpoint": order.endpoint.name}
        )
    if problem := leave_problem(study=study, endpoint=order.endpoint):
        raise PlanError(problem)
    model_rater = _model_rater(study, order, by)
    return create_run(
        study=study,
        model_rater=model_rater,
        selection=order.selection,
        budget=order.budget,
        by=by,
        endpoint=order.endpoint,
    )


def _model_rater(study: Study, order: RunOrder, by: User | None) -> ModelRater:
    return ensure_model_rater(
        version=_version(study, order, by),
        endpoint=order.endpoint,
        temperature=order.temperature,
        seed=order.seed,
        samples=order.samples,
        name=order.name,
        by=by,
    )


def _version(study: Study, order: RunOrder, by: User | None) -> PromptVersion:
    if isinstance(order.version, Use):
        return default_version(study=study, use=order.version, by=by)
    if order.version.prompt.study_id != study.pk:
        raise PlanError(_("This prompt is one of another study."))
    return order.version


def _is_stored(study: Study, order: RunOrder) -> bool:
    return not isinstance(order.version, Use) or versions_of(study).filter(use=order.version.value).exists()


def _taken_back(work: Callable[[], T]) -> T:
    """What the work gives, and nothing of what it wrote: to look at a run, a default prompt may have to be made."""
    with transaction.atomic():
        found = work()
        transaction.set_rollback(True)
    return found
