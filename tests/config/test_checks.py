"""`bin/test` says truthfully what it could not run, and fails for it where services are required."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from tests.config.site_process import free_port

CHECKS = Path(__file__).resolve().parents[2] / "bin" / "checks.py"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with nothing behind its addresses, and with every check passing."""
    spec = importlib.util.spec_from_file_location("checks", CHECKS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "POSTGRES", f"postgres://accord:secret@127.0.0.1:{free_port()}/accord")
    monkeypatch.setattr(module, "REDIS", f"redis://127.0.0.1:{free_port()}/0")
    monkeypatch.setattr(module, "run", lambda name, command, env: True)
    return module


@pytest.mark.parametrize(("required", "status", "word"), [(False, 0, "not run"), (True, 1, "FAILED")])
def test_missing_services_are_named_and_fail_only_where_required(checks, monkeypatch, capsys, required, status, word):
    monkeypatch.setattr(checks, "REQUIRED", required)
    assert checks.everything() == status
    output = capsys.readouterr().out
    assert f"{word}: PostgreSQL at {checks.place(checks.POSTGRES)} cannot be used (" in output
    assert f"{word}: Redis at {checks.place(checks.REDIS)} cannot be used (" in output
    assert "secret" not in output


def test_without_postgresql_the_suite_runs_on_sqlite_and_is_not_sent_to_a_server(checks, monkeypatch):
    suites = {}
    monkeypatch.setattr(checks, "run", lambda name, command, env: suites.setdefault(name, env) is env)
    checks.everything()
    assert "tests on PostgreSQL" not in suites
    assert suites["tests on SQLite"]["TEST_DATABASE_URL"] == ""
    assert "DATABASE_URL" not in suites["tests on SQLite"]


def test_one_failed_check_fails_the_whole_by_name(checks, monkeypatch, capsys):
    monkeypatch.setattr(checks, "run", lambda name, command, env: name != "layers")
    assert checks.everything() == 1
    assert "failed: layers" in capsys.readouterr().out


def test_what_is_meant_for_a_real_installation_stays_out_of_the_tests(checks, monkeypatch):
    for name in ("ACCORD_VAR", "DATABASE_URL", "SECRET_KEY", "BASE_URL", "EMAIL_URL"):
        monkeypatch.setenv(name, "real")
    assert "real" not in checks.environment().values()
    assert checks.environment()["PATH"].endswith(os.environ["PATH"])
