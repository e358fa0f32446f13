"""Two admins who act on each other at the same moment (needs real transactions)."""

import threading

import pytest
from django.db import close_old_connections, connection

from apps.accounts.models import Role, User
from apps.accounts.services.users import LastAdminError, change_role, deactivate_user
from tests.conftest import make_user


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("second_act", ["demote", "deactivate"])
def test_two_admins_cannot_remove_each_other(second_act):
    ada, bea = (make_user(f"{name}@example.org", Role.ADMIN) for name in ("ada", "bea"))
    start = threading.Barrier(2)
    refused: list[str] = []

    def demote(user: User, actor: User) -> None:
        change_role(user=user, role=Role.ANNOTATOR, actor=actor)

    def deactivate(user: User, actor: User) -> None:
        deactivate_user(user=user, actor=actor)

    def run(act, user: User, actor: User) -> None:
        start.wait(timeout=10)
        try:
            act(user, actor)
        except LastAdminError:
            refused.append(user.email)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=run, args=(demote, ada, bea)),
        threading.Thread(target=run, args=(demote if second_act == "demote" else deactivate, bea, ada)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    close_old_connections()
    assert len(refused) == 1
    assert User.objects.active_admins().count() == 1
