"""No rater finds another rater's value, at any address: the same site is walked in two worlds that differ in nothing
but what the others rated, and must answer byte for byte the same.

A walk in which somebody may see the ratings shows that the comparison can fail.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from apps.accounts.models import User
from apps.annotation.models import Draw, Evidence, Rating, RatingEvent
from apps.frameworks.models import Dimension
from apps.llm.models import Call, CallAnswer, Exchange
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Assignment, MemberRole, Rater, RaterKind, Study
from tests.conftest import make_user
from tests.walking import Answer, Objects, Route, Walker, add_person, every_route, furnish, objects_of, said

# What a page answers does not depend on the database, and the walks are long.
pytestmark = pytest.mark.once

MARKER = "SECRET"
QUERY = "?page=2&item=2&show=left&q=letters&block=main&format=json"
QUERY_OF_API = "?bootstrap=0&block=main"
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@dataclass
class Site:
    study: Study
    people: dict[str, User]
    objects: Objects


@pytest.fixture
def site(grief, strangers, rosa, emil, ada, otto, monkeypatch) -> Site:
    """Emil rates; Rosa owns the study and rates, Rita works with it and rates, Ada is an admin and rates; the rest,
    and a model whose scores are sealed, are others to each of them."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    vera, rita, ruth = (
        make_user(f"{name}@example.org", "researcher", name.title()) for name in ("vera", "rita", "ruth")
    )
    Rater.objects.filter(study=grief, name="expert2").update(user=vera)
    grief.memberships.create(user=vera, role=MemberRole.RATER)
    add_person(grief, rosa, "expert4", role=MemberRole.OWNER)
    add_person(grief, rita, "expert5", role=MemberRole.RESEARCHER)
    add_person(grief, ada, "expert6", role=MemberRole.RATER)
    grief.memberships.create(user=ruth, role=MemberRole.RESEARCHER)
    Rater.objects.create(study=grief, name="model-a", kind=RaterKind.LLM)
    # An admin sees every study; so this one rates in both.
    add_person(strangers, vera, "expert9")
    add_person(strangers, ada, "expert10")
    furnish(grief, rosa)
    furnish(strangers, otto)
    compute_agreements()
    people = {"emil": emil, "rosa": rosa, "rita": rita, "ada": ada, "ruth": ruth}
    objects = objects_of(grief, rosa, emil, rita, ada).sampled(2) | objects_of(strangers, otto).sampled(1)
    # One item of every rater of the study, so one's own and all others'; and one of elsewhere.
    first = {row.rater_id: row.pk for row in Assignment.objects.filter(rater__study=grief).order_by("-pk")}
    objects.values["assignment"] = [*first.values(), Assignment.objects.filter(rater__study=strangers).first().pk]
    return Site(grief, people, objects)


def compute_agreements() -> None:
    """So that there are figures which a page might show."""
    for study in Study.objects.all():
        take_snapshot(study=study)


def change_others(person: User) -> None:
    """Whatever everybody else rated, in every study, becomes another value on the same scale, and what
    they wrote unmistakable. Counts stay. Items change differently, so that agreement does, too."""
    own = Rater.objects.filter(user=person).values("pk")
    others = Rating.objects.exclude(rater__in=own)
    Evidence.objects.filter(rating__in=others, turn=None).update(quote=f"{MARKER} quote")
    Evidence.objects.filter(rating__in=others).exclude(turn=None).update(quote="must", start=5, end=9)
    items = list(others.order_by("item_id").values_list("item_id", flat=True).distinct())
    for rating in others:
        value = rating.value % 5 + 1 if items.index(rating.item_id) % 2 else 6 - rating.value
        assert value != rating.value
        changed = {"value": value, "comment": f"{MARKER} comment"}
        Rating.objects.filter(pk=rating.pk).update(**changed)
        RatingEvent.objects.filter(rating=rating).update(**changed)
        Draw.objects.filter(rating=rating).update(value=value, rationale=f"{MARKER} rationale")
    change_models()
    compute_agreements()


def change_models() -> None:
    """Whatever models wrote becomes something else."""
    CallAnswer.objects.update(rationale=f"{MARKER} rationale", notes=[f"{MARKER} note"], reason=f"{MARKER} reason")
    for answer in CallAnswer.objects.exclude(value=None):
        CallAnswer.objects.filter(pk=answer.pk).update(value=answer.value % 5 + 1)
    Exchange.objects.update(reply=f"{MARKER} reply", raw=f"{MARKER} raw", request=f"{MARKER} request")
    Call.objects.update(problem=f"{MARKER} problem")


def readings(walker: Walker, site: Site) -> Iterator[tuple[str, Answer]]:
    """Every address with every object: plainly, with a query string, and as a fragment."""
    for route in every_route():
        query = QUERY_OF_API if route.pattern.startswith("api/") else QUERY
        for address in site.objects.addresses(route):
            yield f"GET {address}", said(walker.ask("get", address))
            yield f"GET {address}{query}", said(walker.ask("get", address + query))
            yield f"GET {address} by htmx", said(walker.ask("get", address, HX_Request="true"))


def acts(walker: Walker, site: Site) -> Iterator[tuple[str, Answer]]:
    """Every address is sent an empty form; those of the rating screen also what is right, and what is wrong."""
    dimension = Dimension.objects.filter(framework__blocks__study=site.study).first()
    for route in every_route():
        for address in site.objects.addresses(route):
            for data in forms(route, dimension):
                # Scripts ask the rating screen for JSON.
                for accept in ("text/html", "application/json") if route.name.startswith("rating:") else ("*/*",):
                    yield f"POST {address} {data} {accept}", said(walker.ask("post", address, data, Accept=accept))


def forms(route: Route, dimension: Dimension) -> list[dict[str, object]]:
    key = dimension.pk
    answers: list[dict[str, object]] = [
        {},
        {"dimension": key, f"value-{key}": "3", f"based-on-{key}": "1"},
        {"dimension": key, f"value-{key}": "4", f"based-on-{key}": "99"},
        {"dimension": key, f"value-{key}": "17"},
        {"dimension": key, f"comment-{key}": "only words", f"evidence-{key}": "no such passage"},
        {"dimension": "0", f"value-{key}": "3"},
    ]
    if route.name == "rating:save":
        return answers
    if route.name == "rating:item":
        buttons = ("save", "submit", "previous", "next", "pause", "skip", "flag", "nonsense")
        return answers + [{"action": action} for action in buttons] + [{**answers[1], "action": "next"}]
    if route.name.startswith("rating:"):
        return [{}, {"reason": "distressing"}, {"wall": "3", "active": "2"}, {"wall": "x"}]
    return [{}]


def differences(site: Site, person: User, sign_in, walk: Callable[[Walker, Site], Iterator]) -> list[str]:
    """The requests that two worlds answer differently, or with a marker."""
    walker = Walker(sign_in(person))
    before = dict(walk(walker, site))
    change_others(person)
    after = dict(walk(walker, site))
    assert before.keys() == after.keys()
    assert len(before) > 200
    marked = [request for request, answer in after.items() if MARKER.encode() in answer.body]
    return sorted({request for request in before if before[request] != after[request]} | set(marked))


@pytest.mark.parametrize("person", ["emil", "rosa", "rita", "ada"])
def test_nothing_a_rater_reads_depends_on_what_others_rated(site, sign_in, person):
    """A rater, and an owner, a researcher and an admin who also rate."""
    found = differences(site, site.people[person], sign_in, readings)
    assert found == [], "\n".join(found)


@pytest.mark.parametrize("person", ["emil", "rosa"])
def test_nothing_a_rater_sends_is_answered_by_what_others_rated(site, sign_in, person):
    """Also where it is refused: a value outside the scale, a change made elsewhere, a form without anything in it."""
    found = differences(site, site.people[person], sign_in, acts)
    assert found == [], "\n".join(found)


def test_the_walk_finds_what_may_be_seen(site, sign_in):
    """Ruth works with the study and does not rate: the figures she reads change with the ratings."""
    found = differences(site, site.people["ruth"], sign_in, readings)
    assert "GET /api/v1/studies/grief/agreement/?bootstrap=0&block=main" in found
    run = site.study.runs.first()
    assert f"GET /studies/grief/llm/runs/{run.pk}/calls/" in found
    assert f"GET /studies/grief/llm/runs/{run.pk}/calls/{run.calls.first().pk}/" in found


def test_the_walk_opens_the_rating_screen_with_own_answers_on_it(site, sign_in):
    emil = site.people["emil"]
    own = Assignment.objects.filter(rater__user=emil).first()
    answer = Walker(sign_in(emil)).ask("get", f"/studies/grief/rate/{own.pk}/")
    assert answer.status == 200
    assert b"remark of expert1" in answer.body
