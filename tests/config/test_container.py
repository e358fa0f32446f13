"""The container files, where no container engine is: parsed, and their commands started with their environment."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlparse

import psycopg
import pytest
import yaml

from tests.config.site_process import free_port, get, wait_until_ready

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 90
OURS = ("prepare", "web", "worker", "beat")


@pytest.fixture(scope="module")
def compose() -> dict:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(scope="module")
def dockerfile() -> list[list[str]]:
    """Instructions as [name, rest], continued lines joined, comments dropped."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    return [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_the_compose_file_has_the_five_services_and_the_preparation(compose):
    assert set(compose["services"]) == {*OURS, "postgres", "redis"}
    for name in ("web", "worker", "beat"):
        assert compose["services"][name]["depends_on"] == {"prepare": {"condition": "service_completed_successfully"}}
    named = {mount.split(":")[0] for service in compose["services"].values() for mount in service.get("volumes", [])}
    assert named == set(compose["volumes"])


def test_no_secret_has_a_default(compose):
    text = (ROOT / "docker-compose.yml").read_text()
    for secret in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        uses = re.findall(rf"\$\{{{secret}(.*?)\}}", text)
        assert uses
        assert all(use.startswith(":?") for use in uses)


def test_the_image_copies_what_exists_runs_unprivileged_and_holds_no_tests(dockerfile):
    copied = [word for name, rest in dockerfile if name == "COPY" for word in rest.split()[:-1]]
    assert set(copied) == {
        "requirements.txt",
        "manage.py",
        "pyproject.toml",
        "LICENSE",
        "config",
        "apps",
        "templates",
        "static",
    }
    assert all((ROOT / name).exists() for name in copied)
    assert ["USER", "accord"] in dockerfile
    image = next(rest for name, rest in dockerfile if name == "FROM")
    assert re.fullmatch(r"python:3\.1[123]-slim", image)


def test_every_variable_the_compose_file_sets_is_documented(compose):
    documented = (ROOT / "docs" / "running.md").read_text()
    for name in compose["services"]["web"]["environment"]:
        assert f"`{name}`" in documented


def service_url(name: str) -> str:
    """The address of a real service, or a skip (a failure where services are required)."""
    url = os.environ.get(name, "")
    try:
        with socket.create_connection((urlparse(url).hostname, urlparse(url).port), timeout=2):
            return url
    except (OSError, TypeError):
        message = f"{name} names no service that answers"
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture
def database_url():
    """A database of its own on the test server."""
    url = service_url("TEST_DATABASE_URL")
    name = f"accord_container_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    yield urlparse(url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def on_this_machine(command: list[str], port: int) -> list[str]:
    """The same command with this environment's programs and a free port."""
    program = {"python": [sys.executable]}.get(command[0], [sys.executable, "-m", command[0]])
    return [*program, *(word.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for word in command[1:])]


def lose_a_child(worker: int) -> None:
    """Kill one process of the worker's pool; the worker forks another."""
    os.kill(int(Path(f"/proc/{worker}/task/{worker}/children").read_text().split()[0]), signal.SIGKILL)


def wait_for_heartbeats(database_url: str, more: int) -> None:
    """Until the worker was seen `more` times since now; it writes every ten seconds."""
    seen, end = [], time.monotonic() + 20 * (more + 1)
    with psycopg.connect(database_url, autocommit=True) as database:
        while len(seen) <= more and time.monotonic() < end:
            (at,) = database.execute("SELECT seen_at FROM common_workerheartbeat").fetchone()
            seen += [at] if at not in seen else []
            time.sleep(0.5)
    assert len(seen) == more + 1


@pytest.mark.services
@pytest.mark.xdist_group("site")
def test_the_same_commands_with_the_same_environment_become_ready(compose, dockerfile, database_url, tmp_path: Path):
    port = free_port()
    given = {
        "DATABASE_URL": database_url,
        "REDIS_URL": service_url("TEST_REDIS_URL"),
        "SECRET_KEY": "only here" * 8,
        "BASE_URL": "http://localhost:8000",
        "ALLOWED_HOSTS": "localhost,127.0.0.1",
    }
    declared = compose["services"]["web"]["environment"]
    assert set(given) <= set(declared)
    kept = {key: value for key, value in os.environ.items() if key not in {*declared, "DJANGO_SETTINGS_MODULE"}}
    env = kept | given | {"ACCORD_VAR": str(tmp_path / "var")}
    default = json.loads(next(rest for name, rest in dockerfile if name == "CMD"))
    commands = {name: on_this_machine(compose["services"][name].get("command", default), port) for name in OURS}

    log = (tmp_path / "log").open("wb")
    subprocess.run(commands.pop("prepare"), cwd=ROOT, env=env, stdout=log, stderr=log, timeout=120, check=True)
    processes = {
        name: subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True)
        for name, command in commands.items()
    }
    running = list(processes.values())
    try:
        checks = wait_until_ready(port, seconds=READY_SECONDS)
        assert checks == {"database": True, "broker": True, "worker": True}, (tmp_path / "log").read_text()
        assert get(port, "/accounts/sign-in/")[0] == 200
        assert all(process.poll() is None for process in running), (tmp_path / "log").read_text()
        # The first sign of life comes before the pool of processes is complete, the second from the running worker.
        wait_for_heartbeats(database_url, 1)
        lose_a_child(processes["worker"].pid)
        # A forked child that inherits the worker's database connections would have ended them: perhaps one heartbeat
        # was under way, the next is after the fork.
        wait_for_heartbeats(database_url, 2)
        assert "Error in timer" not in (tmp_path / "log").read_text()
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait(timeout=40)
        log.close()
