"""A planned run in words: what it asks, what it leaves out and why, and what it takes."""

from collections import defaultdict
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.llm.models import Endpoint
from apps.llm.services.endpoints import key_is_set
from apps.llm.services.estimating import duration_in_words
from apps.llm.services.making_runs import Preview, RunOrder
from apps.llm.services.model_raters import sampling_doubt
from apps.llm.services.planning import MOST_CALLS, LeftOut

# So many items that are left out are named for each reason; all are counted.
NAMED = 100


@dataclass(frozen=True, slots=True)
class ShownReason:
    """Items that are left out for one reason. names is empty where they are hidden from who looks."""

    label: str
    count: int
    names: list[str]

    @property
    def n_more(self) -> int:
        return self.count - len(self.names)


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A preview for the page.

    sees_ratings: without it nothing that is left out is named. Which conversations are examples tells what experts say
    of them, and a list of all the others tells which ones are.
    """

    preview: Preview
    order: RunOrder
    sees_ratings: bool

    @property
    def endpoint(self) -> Endpoint:
        return self.order.endpoint

    @property
    def lacks_key(self) -> bool:
        """Whether a run that is made now could not start for want of a key."""
        return not key_is_set(self.endpoint)

    @property
    def n_items(self) -> int:
        return len(self.preview.plan.items)

    @property
    def n_all_items(self) -> int:
        return self.n_items + len(self.preview.plan.left_out)

    @property
    def n_calls(self) -> str:
        return _counted(self.preview.plan.n_calls)

    @property
    def input_tokens(self) -> str:
        return _counted(self.preview.plan.estimate.input_tokens)

    @property
    def output_tokens(self) -> str:
        return _counted(self.preview.plan.estimate.output_tokens)

    @property
    def duration(self) -> str:
        return duration_in_words(self.preview.plan.estimate.seconds)

    @property
    def is_over_budget(self) -> bool:
        cost, budget = self.preview.plan.estimate.cost, self.order.budget
        return cost is not None and budget is not None and cost > budget

    @property
    def problem(self) -> str:
        """Why there can be no such run; "" where there can."""
        n_calls = self.preview.plan.n_calls
        if not n_calls:
            return _("There is nothing to ask: every conversation is left out.")
        if n_calls > MOST_CALLS:
            return _("A run has at most %(most)s calls: choose fewer conversations or samples.") % {
                "most": _counted(MOST_CALLS)
            }
        return ""

    @property
    def doubt(self) -> str:
        order = self.order
        return sampling_doubt(temperature=order.temperature, seed=order.seed, samples=order.samples)

    @property
    def left_out(self) -> list[ShownReason]:
        names: dict[LeftOut, list[str]] = defaultdict(list)
        for item, reason in self.preview.plan.left_out:
            if self.sees_ratings and len(names[reason]) < NAMED:
                names[reason].append(f"{item.block}/{item.external_id}")
        counts = self.preview.plan.left_out_counts
        return [
            ShownReason(str(reason.label), counts[reason.value], names[reason])
            for reason in LeftOut
            if reason.value in counts
        ]


def _counted(number: int) -> str:
    return f"{number:,}"
