"""What a run has brought, question by question: rated from every draw, from fewer, or not at all."""

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q

from apps.annotation.models import Rating
from apps.llm.models import Call, CallAnswer, Run


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Counts of questions: an item on one scale. samples: answers that were asked for to each.

    n_full and n_part have a rating, made of all their draws or of fewer. Of a run that only checks, which records no
    ratings, they are the questions with an answer that is valid.
    """

    samples: int
    n_questions: int
    n_full: int
    n_part: int

    @property
    def n_rated(self) -> int:
        return self.n_full + self.n_part

    @property
    def n_none(self) -> int:
        return self.n_questions - self.n_rated


def outcome_of(run: Run) -> RunOutcome:
    """Two queries, however many calls there are. `run` comes with its model rater."""
    samples = 1 if run.is_check else run.model_rater.samples
    asked = Call.objects.filter(run=run, sample=0).order_by()
    questions = asked.aggregate(
        single=Count("pk", filter=Q(dimension__isnull=False), distinct=True),
        whole=Count("framework__dimensions", filter=Q(dimension=None)),
    )
    valid = CallAnswer.objects.filter(call__run=run, fault="")
    if not run.is_check:
        rated = Rating.objects.filter(
            rater=run.model_rater.rater_id, item=OuterRef("call__item"), dimension=OuterRef("dimension")
        )
        valid = valid.filter(Exists(rated))
    draws = valid.order_by().values("call__item", "dimension").annotate(n=Count("pk"))
    found = draws.aggregate(full=Count("n", filter=Q(n__gte=samples)), part=Count("n", filter=Q(n__lt=samples)))
    return RunOutcome(samples, questions["single"] + questions["whole"], found["full"], found["part"])
