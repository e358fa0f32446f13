"""The command `create_user`: a login, or one clear line and exit status 1."""

import io

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.common.models import AuditEntry

GOOD = "correct horse battery"


@pytest.fixture
def create(monkeypatch, db):
    def run(email: str, *options: str, password: str = GOOD + "\n") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(password))
        out = io.StringIO()
        call_command("create_user", email, *options, stdout=out)
        return out.getvalue()

    return run


@pytest.mark.parametrize("role", ["admin", "researcher", "annotator"])
def test_it_makes_a_login(create, role):
    assert "ada@example.org" in create("Ada@Example.org", "--role", role, "--password-stdin")
    user = User.objects.get()
    assert (user.email, user.role, user.is_active) == ("ada@example.org", role, True)
    assert user.check_password(GOOD)
    assert AuditEntry.objects.get().action == "user.create"


@pytest.mark.parametrize(
    ("email", "options", "password", "message"),
    [
        ("ada@example.org", ["--role", "boss", "--password-stdin"], GOOD, "admin, researcher, annotator"),
        ("ada@example.org", ["--password-stdin"], GOOD, "--role must be one of"),
        ("ada@example.org", ["--role", "admin"], GOOD, "--password-stdin"),
        ("ada@example.org", ["--role", "admin", "--password-stdin"], "", "empty"),
        ("ada@example.org", ["--role", "admin", "--password-stdin"], "\n" + GOOD, "empty"),
        ("ada@example.org", ["--role", "admin", "--password-stdin"], "short", "too short"),
        ("ada@example.org", ["--role", "admin", "--password-stdin"], "ada@example.org", "too similar"),
        ("ada at example", ["--role", "admin", "--password-stdin"], GOOD, "valid email"),
        ("", ["--role", "admin", "--password-stdin"], GOOD, "cannot be blank"),
        ("ada@example.org\nBcc: x@y.z", ["--role", "admin", "--password-stdin"], GOOD, "valid email"),
    ],
)
def test_bad_input_is_one_clear_line_and_no_login(create, email, options, password, message):
    with pytest.raises(CommandError, match=message) as caught:
        create(email, *options, password=password)
    assert caught.value.returncode == 1
    assert "\n" not in str(caught.value)
    assert not User.objects.exists()
    assert not AuditEntry.objects.exists()


def test_an_address_is_taken_in_any_case(create):
    create("ada@example.org", "--role", "admin", "--password-stdin")
    with pytest.raises(CommandError, match=r"ada@example\.org is already registered"):
        create("ADA@example.org", "--role", "annotator", "--password-stdin")
    assert User.objects.get().role == "admin"


def test_spaces_in_a_password_are_kept(create):
    create("ada@example.org", "--role", "admin", "--password-stdin", password=" spaced out password \r\n")
    assert User.objects.get().check_password(" spaced out password ")
