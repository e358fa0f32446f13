"""An invitation and a study's owners, from two sides at the same moment."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.studies.models import Invitation, MemberRole, Membership, RaterKind
from apps.studies.services.invitations import create_invitations
from apps.studies.services.people import LastOwnerError, remove_member
from tests.conftest import make_user
from tests.simultaneous import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def link(grief, rosa):
    [new] = create_invitations(study=grief, role=MemberRole.RATER, kind=RaterKind.EXPERT, days=14, by=rosa)
    return f"/invite/{new.token}/"


def test_of_two_people_who_accept_at_once_one_wins_and_the_other_is_told(sign_in, grief, link):
    people = [make_user(f"p{number}@example.org", "annotator") for number in range(2)]
    clients = [sign_in(person) for person in people]
    results = at_once(*[lambda client=client: client.post(link).status_code for client in clients])
    assert sorted(results) == [302, 410]
    [joined] = Membership.objects.filter(study=grief, user__in=people)
    assert Invitation.objects.get().used_by == joined.user
    assert grief.raters.filter(user__in=people).count() == 1


def test_of_two_who_register_at_once_one_wins_and_no_second_account_is_left(grief, link):
    def register(number):
        fields = {"name": "N", "email": f"n{number}@example.org", "password": "a long walk home"}
        return Client().post(link, fields).status_code

    assert sorted(at_once(lambda: register(1), lambda: register(2))) == [302, 410]
    assert User.objects.filter(email__startswith="n").count() == 1


def test_one_person_who_clicks_twice_joins_once(sign_in, grief, otto, link):
    clients = [sign_in(otto), sign_in(otto)]
    results = at_once(*[lambda client=client: client.post(link).status_code for client in clients])
    assert 302 in results
    assert Membership.objects.filter(study=grief, user=otto).count() == 1
    assert grief.raters.filter(user=otto).count() == 1


def test_two_owners_who_remove_each_other_leave_one(grief, rosa, otto):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.OWNER)
    rows = Membership.objects.select_related("study", "user").filter(role=MemberRole.OWNER)
    results = at_once(*[lambda row=row: remove_member(membership=row, by=None) for row in rows])
    assert sorted(type(result) for result in results if result is not None) == [LastOwnerError]
    assert Membership.objects.filter(study=grief, role=MemberRole.OWNER).count() == 1
