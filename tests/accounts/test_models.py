"""What a person is, whatever the spelling of their address."""

import pytest
from django.db import IntegrityError, transaction

from apps.accounts.models import ApiKey, Role, User
from tests.conftest import make_user


def test_an_address_is_stored_in_lower_case(db):
    assert make_user(" Ada@Example.ORG ", Role.ADMIN).email == "ada@example.org"


def test_the_database_refuses_a_second_spelling(ada):
    with pytest.raises(IntegrityError), transaction.atomic():
        User(email="ADA@example.org", password="x").save()


@pytest.mark.parametrize(
    ("role", "active", "is_admin", "is_researcher"),
    [
        (Role.ADMIN, True, True, True),
        (Role.RESEARCHER, True, False, True),
        (Role.ANNOTATOR, True, False, False),
        (Role.ADMIN, False, False, False),
        (Role.RESEARCHER, False, False, False),
    ],
)
def test_roles_hold_only_while_the_person_is_active(role, active, is_admin, is_researcher):
    user = User(email="x@example.org", role=role, is_active=active)
    assert (user.is_admin, user.is_researcher) == (is_admin, is_researcher)


def test_a_person_is_called_by_name_else_by_address():
    assert str(User(email="x@example.org", name="Xenia")) == "Xenia"
    assert str(User(email="x@example.org")) == "x@example.org"


def test_keys_are_long_random_and_different():
    keys = {ApiKey.new_key() for _ in range(100)}
    assert len(keys) == 100
    assert min(map(len, keys)) >= 43
