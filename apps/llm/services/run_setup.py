"""Whether a run can still ask what it was laid out to ask."""

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from apps.frameworks.models import Framework
from apps.llm.models import CallState, Run
from apps.studies.models import BlockFramework

# Calls that are not asked again, whatever happens.
OVER = (CallState.DONE, CallState.CANCELLED)


def setup_problem(run: Run) -> str:
    """Why the answers of a run could not be ratings of its study, in a sentence; "" where they can.

    Its blocks or its prompt may have other frameworks than when it was laid out: each answer would be paid for, and
    none could be stored. Three queries at most.
    """
    left = run.calls.exclude(state__in=OVER).order_by()
    of_block = BlockFramework.objects.filter(block=OuterRef("item__block"), framework=OuterRef("framework"))
    of_version = run.model_rater.version.frameworks.values("pk")
    lost = (
        left.filter(~Exists(of_block)).values_list("framework", flat=True).first()
        or left.exclude(framework__in=of_version).values_list("framework", flat=True).first()
    )
    if lost is None:
        return ""
    return _(
        "The run asks for %(framework)s, which its blocks or its prompt no longer have: cancel it, and make a new run."
    ) % {"framework": Framework.objects.get(pk=lost)}
