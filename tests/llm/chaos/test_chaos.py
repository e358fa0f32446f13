"""Workers are killed, the broker is restarted, a fifth of the calls go wrong, tasks come twice: nothing is lost."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psycopg
import pytest

from apps.llm.fake_server import FakeScript, FakeServer
from tests.config.site_process import free_port
from tests.config.test_container import service_url

ROOT = Path(__file__).resolve().parents[3]
KILLS, LAST_SECONDS = 3, 150
FINAL = {"done", "invalid", "failed"}
# A fifth of the calls.
FAULTS = {"429": 0.04, "500": 0.05, "hang": 0.03, "drop": 0.02, "malformed": 0.06}
pytestmark = [pytest.mark.once, pytest.mark.xdist_group("site")]


class Site:
    """Two workers of one site and the process that speaks for it; each in a process group of its own."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.workers: list[subprocess.Popen[bytes]] = []
        self.inside: subprocess.Popen[str] | None = None

    def start(self, base_url: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "tests.llm.chaos.inside", base_url]
        self.inside = subprocess.Popen(
            command, cwd=ROOT, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        first = self._answer()
        self.workers = [self._worker(number) for number in (1, 2)]
        return first

    def ask(self, what: str) -> dict[str, Any]:
        self.inside.stdin.write(f"{what}\n")
        self.inside.stdin.flush()
        return self._answer()

    def send_everything_twice(self) -> None:
        """Work and sweeps, each message twice."""
        self.ask("send")
        time.sleep(1)

    def kill_workers(self) -> None:
        """Without a word (kill -9): whichever of them was at work. Others take their places."""
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.wait(10)
        self.workers = [self._worker(number) for number in (1, 2)]

    def stop(self) -> None:
        for process in [*self.workers, *([self.inside] if self.inside else [])]:
            process.kill()
            process.wait(10)
        if self.inside:
            self.inside.stdin.close()
            self.inside.stdout.close()

    def _answer(self) -> dict[str, Any]:
        line = self.inside.stdout.readline()
        assert line, "the site's own process ended"
        return json.loads(line)

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker", "-n", f"chaos{number}@local"]
        command += ["--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=subprocess.DEVNULL)


class Redis:
    """A server of the test's own, to be killed."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)

    def restart(self) -> None:
        """With nothing in it: what was waiting is lost."""
        self.stop()
        time.sleep(0.5)
        self.start()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


class Folder:
    """The embedded broker. A restart that loses everything: its messages are deleted."""

    def __init__(self, var: Path) -> None:
        self.var = var

    def restart(self) -> None:
        for message in (self.var / "broker" / "queue").glob("*celery.msg"):
            message.unlink(missing_ok=True)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL", "BASE_URL")}
    return kept | {
        "ACCORD_VAR": str(tmp_path / "var"),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EMAIL_URL": "dummymail://",
        "LLM_LEASE_SECONDS": "10",
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
    }


@pytest.fixture
def site(env: dict[str, str]):
    made = Site(env)
    yield made
    made.stop()


@pytest.fixture
def postgres():
    """A database of its own on the test server."""
    url = service_url("TEST_DATABASE_URL")
    name = f"accord_chaos_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    yield urlparse(url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def redis(tmp_path: Path):
    if shutil.which("redis-server") is None:
        message = "redis-server is not installed (apt-get install redis-server)"
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    server = Redis(tmp_path)
    server.start()
    yield server
    server.stop()


def test_nothing_is_lost_or_doubled_on_sqlite_with_the_embedded_broker(site: Site, env: dict[str, str]):
    live_through_it(site, Folder(Path(env["ACCORD_VAR"])))


@pytest.mark.services
def test_nothing_is_lost_or_doubled_on_postgresql_with_redis(
    site: Site, env: dict[str, str], postgres: str, redis: Redis
):
    env |= {"DATABASE_URL": postgres, "REDIS_URL": redis.url}
    live_through_it(site, redis)


def live_through_it(site: Site, broker: Redis | Folder) -> None:
    with FakeServer(FakeScript(latency_ms=400, faults=FAULTS, hang_seconds=4, seed=7)) as fake:
        n_calls = site.start(fake.url)["calls"]
        for number in range(KILLS):
            wait_until_work_is_under_way(site, ended=16 * (number + 1))
            site.kill_workers()
            if number == KILLS // 2:
                broker.restart()
        wait_for_the_end(site)
        check(site.ask("state"), site.ask("stored"), fake.stats(), n_calls)


def wait_until_work_is_under_way(site: Site, ended: int) -> None:
    """Until so many calls have ended and others are on their way. Tasks come twice all along."""
    end = time.monotonic() + LAST_SECONDS
    while time.monotonic() < end:
        calls = site.ask("state").get("calls", {})
        if sum(calls.get(state, 0) for state in FINAL) >= ended and calls.get("running"):
            return
        site.send_everything_twice()
    pytest.fail(f"nothing was under way within {LAST_SECONDS} s: {site.ask('state')}")


def wait_for_the_end(site: Site) -> None:
    """Until the run is over. Tasks still come twice; the sweeps among them free what the dead held."""
    end = time.monotonic() + LAST_SECONDS
    while site.ask("state").get("run") == "running" and time.monotonic() < end:
        site.send_everything_twice()


def check(state: dict[str, Any], stored: dict[str, Any], requests: dict[str, Any], n_calls: int) -> None:
    assert state["run"] == "done", state
    assert set(state["calls"]) <= FINAL
    assert sum(state["calls"].values()) == n_calls
    # Each valid answer is one rating, written once, as the model gave it.
    assert stored["ratings"] == stored["answers"]
    assert len(stored["ratings"]) == state["calls"]["done"]
    assert stored["events_of_a_rating"] == [1]
    assert stored["requests_after_an_answer"] == []
    # Every request is accounted for: a lost one may or may not have been sent.
    exchanges = stored["exchanges"]
    assert exchanges.get("sent", 0) == 0
    assert stored["told_lost"] == exchanges.get("lost", 0) > 0
    known = exchanges.get("answered", 0) + exchanges.get("failed", 0)
    assert known <= requests["requests"] <= known + stored["told_lost"]
