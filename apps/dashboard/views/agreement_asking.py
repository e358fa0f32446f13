"""What the pages of scales and raters share: the view their address asks for, and how its figures stand."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from apps.accounts.access import PersonRequest
from apps.common.services.heartbeats import WORKER_SILENT_AFTER
from apps.dashboard.agreement.query import Query, parse
from apps.dashboard.agreement.results import IN_TWO_CONVENTIONS, other_convention
from apps.dashboard.agreement_words import Words, chips_of, sentences_of
from apps.dashboard.services.agreement import Choices, Standing, choices_of, standing_at_once, standing_of
from apps.reliability.agreement import AgreementRow
from apps.reliability.documents import INTERVALS
from apps.reliability.matrix import TableKey
from apps.reliability.services.reading import SnapshotView
from apps.studies.models import Study

# Filters that choose among figures, not among ratings.
VIEWS = frozenset({"block", "framework", "group", "rater", "repeats"})


@dataclass(frozen=True)
class Asked:
    """One request of somebody who may see the study's figures. faults: what of the address could not be followed.

    followed: which filters choose what this page shows, beside those that choose the ratings; the others only go along
    to the next page, and it would be wrong to name them here.
    """

    request: PersonRequest
    study: Study
    choices: Choices
    query: Query
    faults: tuple[str, ...]
    standing: Standing
    followed: Collection[str] = ()

    @cached_property
    def view(self) -> SnapshotView | None:
        """The frozen figures; None before they are computed."""
        return SnapshotView(self.standing.snapshot) if self.standing.snapshot else None

    @property
    def carried(self) -> str:
        """The parameters that go along to another page of the same figures."""
        return self.query.on_page(1).encoded()

    @property
    def has_two_conventions(self) -> bool:
        return self.query.statistic in IN_TWO_CONVENTIONS

    def other_rows(self, key: TableKey | None = None) -> list[AgreementRow]:
        """The view's statistic in the other convention, on one scale or all; empty where there is none."""
        if self.view is None or not self.has_two_conventions:
            return []
        where = key or TableKey("", "", "")
        other = other_convention(self.query.convention)
        return self.view.rows(convention=other, statistics=[self.query.statistic], **where._asdict())

    def context(self) -> dict[str, Any]:
        words = Words(self.choices.labels)
        return {
            "study": self.study,
            "is_managed": self.study.is_managed_by(self.request.user),
            "query": self.query,
            "encoded": self.query.encoded(),
            "carried": self.carried,
            "standing": self.standing,
            "snapshot": self.standing.snapshot,
            "job": self.standing.job,
            "silent_after": int(WORKER_SILENT_AFTER.total_seconds()),
            "words": words,
            "chips": chips_of(self.query, words, but=VIEWS.difference(self.followed)),
            "cleared": self.query.cleared().encoded(),
            "faults": list(self.faults),
            "other_convention": other_convention(self.query.convention),
            "has_two_conventions": self.has_two_conventions,
            "intervals": INTERVALS,
        }


def answer_to_poll(asked: Asked) -> HttpResponse | None:
    """To a page that asks how far the computing is; once it is over, the whole page is to be asked for again."""
    if not asked.request.htmx or asked.request.htmx.target != "standing":
        return None
    if asked.standing.is_computing:
        return render(asked.request, "agreement/_polled_standing.html", asked.context())
    response = HttpResponse()
    response["HX-Refresh"] = "true"
    return response


def asked_of(
    request: PersonRequest,
    study: Study,
    own: Collection[str] = (),
    *,
    at_once: bool = False,
    followed: Collection[str] = (),
) -> Asked:
    """`own`: parameters that only this page has, and reads itself. `at_once`: figures that were never computed are
    computed now, where that takes but a moment. `followed`: of VIEWS, what the page's figures follow."""
    choices = choices_of(study, request.GET.getlist("rater"))
    given = [(name, value) for name, values in request.GET.lists() for value in values if name not in own]
    query, faults = parse(given, choices.offer)
    if at_once:
        standing = standing_at_once(study, query.selection, by=request.user)
    else:
        standing = standing_of(study, query.selection)
    return Asked(request, study, choices, query, tuple(sentences_of(faults)), standing, followed)
