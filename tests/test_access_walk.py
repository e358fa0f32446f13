"""A rater walks every address of another study, with every method: nothing is there, and nothing changes. CASES 33."""

import itertools

import pytest
from django.urls import reverse

from apps.accounts.models import Role
from apps.frameworks.models import Dimension
from tests.conftest import make_user
from tests.walking import NOBODYS, Objects, Walker, add_person, dump, every_route, furnish, objects_of

# What a page answers does not depend on the database, and the walks are long.
pytestmark = pytest.mark.once

METHODS = ["get", "post", "put", "patch", "delete"]
ABSENT = {404, 405}

# What a rater may open in the study they rate in, and what belongs to themselves.
RATERS_OWN = {
    "studies:overview",
    "studies:rating-leave",
    "rating:start",
    "rating:next",
    "rating:done",
    "rating:item",
    "rating:save",
    "rating:time",
    "rating:flag",
    "rating:skip",
    "rating:submit",
}


@pytest.fixture
def site(grief, strangers, rosa, emil, otto):
    """Emil and Paul rate in `grief`; somebody else rates in Otto's study, and all there is belongs to it."""
    add_person(grief, make_user("paul@example.org", "annotator"), "expert8")
    add_person(strangers, make_user("vera@example.org", "annotator"), "expert9")
    furnish(grief, rosa)
    furnish(strangers, otto)
    return grief, strangers


def payload(study) -> dict[str, object]:
    """A form that would be taken by many an address, were it one's own."""
    dimension = Dimension.objects.filter(framework__blocks__study=study).first()
    return {
        "action": "submit",
        "dimension": dimension.pk,
        f"value-{dimension.pk}": "4",
        f"based-on-{dimension.pk}": "1",
        "reason": "distressing",
        "role": "owner",
        "kind": "expert",
        "email": "emil@example.org",
        "name": study.title,
        "title": "Mine now",
        "slug": "mine-now",
        "confirm": study.slug,
        "wall": "5",
        "active": "5",
    }


def mixed(route, own: Objects, foreign: Objects):
    """Addresses in which at least one object is another study's."""
    meanings = list(dict.fromkeys(meaning for _name, meaning in route.parts if meaning not in NOBODYS))
    for sides in itertools.product((own, foreign), repeat=len(meanings)):
        if all(side is own for side in sides):
            continue
        chosen = {meaning: side.values[meaning] for meaning, side in zip(meanings, sides, strict=True)}
        yield from Objects(own.values | chosen).addresses(route)


@pytest.mark.parametrize("method", METHODS)
def test_another_study_is_not_there_by_any_method_and_nothing_changes(site, sign_in, emil, rosa, otto, method):
    grief, strangers = site
    # A researcher elsewhere: pages for researchers then look for the object, rather than refuse the role.
    emil.role = Role.RESEARCHER
    emil.save()
    own, foreign = objects_of(grief, emil), objects_of(strangers, otto)
    assert all(foreign.values.values()), "every kind of object must be there to be asked for"
    walker, before, found = Walker(sign_in(emil), keeps=True), dump(), []
    for route in every_route():
        if not route.owned():
            continue
        for address in mixed(route, own, foreign):
            answer = walker.ask(method, address, payload(strangers))
            # Accounts are for admins, who are told apart before anything is looked up.
            allowed = ABSENT | ({403} if route.name.startswith("accounts:user") else set())
            if answer.status not in allowed:
                found.append(f"{method} {address} ({route.name}): {answer.status}")
    assert found == [], "\n".join(found)
    assert dump() == before


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_owner_reaches_nothing_of_another_study_by_way_of_their_own(site, sign_in, rosa, otto, method):
    """The study in the address is Rosa's, and the invitation, member, block or upload is not."""
    grief, strangers = site
    own, foreign = objects_of(grief, rosa), objects_of(strangers, otto)
    # Blocks and raters are told apart by names that each study has for itself.
    strangers.blocks.update(slug="theirs")
    strangers.raters.filter(pk=strangers.raters.earliest("pk").pk).update(name="their rater")
    foreign.values |= {"block": ["theirs"], "rater": ["their rater"]}
    walker, before, found = Walker(sign_in(rosa), keeps=True), dump(), []
    for route in every_route():
        if route.owned():
            for address in mixed(route, own, foreign):
                answer = walker.ask(method, address, payload(strangers))
                allowed = ABSENT | ({403} if route.name.startswith("accounts:user") else set())
                if answer.status not in allowed:
                    found.append(f"{method} {address} ({route.name}): {answer.status}")
    assert found == [], "\n".join(found)
    assert dump() == before


@pytest.mark.parametrize("method", METHODS)
def test_in_their_own_study_a_rater_finds_only_what_rating_needs(site, sign_in, emil, rosa, method):
    """No report, no model's score, no other rater's draft; the study's own pages are for those who work with it."""
    grief, _strangers = site
    objects = objects_of(grief, rosa)
    own = set(grief.raters.get(user=emil).assignments.values_list("pk", flat=True))
    walker, before, found = Walker(sign_in(emil), keeps=True), dump(), []
    for route in every_route():
        if not route.owned() or (route.name in RATERS_OWN and "assignment" not in dict(route.parts).values()):
            continue
        values = dict(objects.values)
        if route.name in RATERS_OWN:
            values["assignment"] = [pk for pk in values["assignment"] if pk not in own]
            assert values["assignment"], "somebody else's work must be there to be asked for"
        for address in Objects(values).addresses(route):
            answer = walker.ask(method, address, payload(grief))
            if answer.status not in ABSENT | {403}:
                found.append(f"{method} {address} ({route.name}): {answer.status}")
    assert found == [], "\n".join(found)
    assert dump() == before


def test_the_walk_reaches_what_there_is(site, sign_in, otto):
    """Its owner opens the very addresses at which nothing is there for others."""
    _grief, strangers = site
    walker = Walker(sign_in(otto))
    opened = {
        route.name
        for route in every_route()
        if route.owned()
        for address in objects_of(strangers, otto).addresses(route)
        if walker.ask("get", address).status == 200
    }
    assert {"studies:overview", "studies:people", "studies:settings", "rating:preview", "api-study-agreement"} <= opened


def test_nobody_opens_anything_of_a_study(site, client, rosa):
    grief, _strangers = site
    walker, before = Walker(client, keeps=True), dump()
    for route in every_route():
        if route.owned():
            for address in objects_of(grief, rosa).addresses(route):
                answer = walker.ask("get", address)
                sent = answer.headers.get("Location", "")
                is_sent = answer.status == 302 and sent.startswith(reverse("accounts:sign-in"))
                assert is_sent or answer.status in (401, 403, 404, 405), (address, answer.status, sent)
    assert dump() == before
