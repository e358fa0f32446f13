"""How close a run of a model comes to the rate that its endpoint allows, and whether the worker's memory grows.

    python benchmarks/llm.py [--quick]

For each broker, Redis and the embedded one, a site of its own is set up in a temporary folder: a database (SQLite; on
the server of DATABASE_URL, where that is set, a new one that is dropped at the end), a study of 100 conversations on
six scales, one Celery worker as bin/start runs it, and Accord's fake model server, which takes 400 ms for an answer.
600 calls with 16 slots then take 15 seconds at best; the efficiency is that over the time from the start of the run to
its last answer stored. Afterwards the database and the fake server are asked how many ratings and requests there were:
600 of each. A second run of 2,400 quick calls shows how much memory the worker takes on after their first quarter.

Redis is that of REDIS_URL (the database number named there is emptied), or a server that is started for this. Server,
worker, database and broker share the machine. `--quick` makes 162 calls of each, too few for an efficiency. It ends
with status 1 where the two brokers do not come to the same number of calls, requests and ratings.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from places import Database, warn_if_busy

ROOT = Path(__file__).resolve().parents[1]
SLOTS, LATENCY_MS, QUICK_LATENCY_MS, SCALES = 16, 400, 20, 6
FRAMEWORK = "lend-an-ear"
WAIT_SECONDS = 300
# What must be the same whatever the broker.
COUNTS = ("calls", "requests", "ratings")


@dataclass(frozen=True)
class Size:
    """Conversations and samples of the timed run, and of the run that watches the memory."""

    conversations: int
    samples: int
    watched_samples: int

    @property
    def calls(self) -> int:
        return self.conversations * SCALES * self.samples


FULL, QUICK = Size(100, 1, 4), Size(27, 1, 1)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--broker", choices=("redis", "embedded"), help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped."))
    if parsed.broker:
        print(json.dumps(measure(QUICK if parsed.quick else FULL)))
        return
    warn_if_busy()
    found = {broker: run_part(broker, parsed.quick) for broker in ("redis", "embedded")}
    report(found, parsed.quick)


# --- One broker, in a process of its own ------------------------------------------------------------------------------


def run_part(broker: str, quick: bool) -> dict[str, Any]:
    """The figures of one broker; {"problem": why} where it could not be measured."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="accord-benchmark-")))
        environment = os.environ | {
            "ACCORD_VAR": str(folder / "var"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "EMAIL_URL": "dummymail://",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
        }
        environment.pop("REDIS_URL", None)
        if broker == "redis":
            url = os.environ.get("REDIS_URL") or stack.enter_context(redis_server(folder))
            if not url:
                return {"problem": "no redis-server here, and REDIS_URL is not set"}
            environment["REDIS_URL"] = url
        database = Database.of(os.environ.get("DATABASE_URL", ""), folder)
        stack.callback(database.drop)
        environment["DATABASE_URL"] = database.url
        command = [sys.executable, __file__, "--broker", broker, *(["--quick"] if quick else [])]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            return {"problem": f"its run ended with status {done.returncode}"}
        return json.loads(done.stdout.splitlines()[-1]) | {"database": str(database)}


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The address of a server started for this; empty where there is none to start."""
    if shutil.which("redis-server") is None:
        yield ""
        return
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with process(["redis-server", *options], stdout=subprocess.DEVNULL):
        wait_until(lambda: is_open(port), "Redis did not answer.")
        yield f"redis://127.0.0.1:{port}/0"


def measure(size: Size) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    port, quick_port = free_port(), free_port()
    study, endpoint, quick_endpoint = set_up(size, port, quick_port)
    with fake_server(port, LATENCY_MS), fake_server(quick_port, QUICK_LATENCY_MS), process(worker_command()) as worker:
        wait_until(lambda: is_open(port) and is_open(quick_port), "The fake servers did not answer.")
        wait_until(is_worker_seen, "The worker did not start.")
        timed = follow(make_run(study, endpoint, seed=1, samples=size.samples))
        requests = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/stats"))["requests"]
        ratings = count_ratings()
        watched = make_run(study, quick_endpoint, seed=2, samples=size.watched_samples)
        memory = follow(watched, pid=worker.pid)
    ideal = size.calls * LATENCY_MS / 1000 / SLOTS
    return {
        "calls": size.calls,
        "requests": requests,
        "ratings": ratings,
        "seconds": timed["seconds"],
        "efficiency": ideal / timed["seconds"],
        "watched_calls": memory["calls"],
        "mib_before": memory["mib_before"],
        "mib_after": memory["mib_after"],
    }


def fake_server(port: int, latency_ms: int) -> AbstractContextManager[subprocess.Popen[bytes]]:
    command = [sys.executable, "manage.py", "fake_llm", "--port", str(port), "--latency-ms", str(latency_ms)]
    return process(command, stdout=subprocess.DEVNULL)


def worker_command() -> list[str]:
    """As bin/supervise.py runs it."""
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "config", "worker", "-n", "accord@local"]
    command += ["--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING"]
    return [*command, "--without-gossip", "--without-mingle", "--without-heartbeat"]


def set_up(size: Size, *ports: int) -> list[Any]:
    """An active study, and an endpoint of a fake server at each port."""
    from django.core.management import call_command

    from apps.accounts.models import Role, User
    from apps.corpus.models import Dataset
    from apps.corpus.parsing.records import ConversationRecord, TurnRecord
    from apps.corpus.services.importing import import_conversations
    from apps.frameworks.models import Framework
    from apps.llm.models import Endpoint
    from apps.studies.models import RaterKind
    from apps.studies.services.design import add_block, create_study
    from apps.studies.services.status import activate

    call_command("prepare", verbosity=0, stdout=open(os.devnull, "w"))  # noqa: SIM115
    owner = User.objects.create_user("owner@example.org", None, role=Role.RESEARCHER)
    dataset = Dataset.objects.create(slug="benchmark", name="Benchmark", owner=owner)
    talk = [TurnRecord(role, role.title(), "It was a long day. " * 8) for role in ("seeker", "supporter")] * 3
    records = (
        ConversationRecord(number, f"c{number:03d}", [*talk, TurnRecord("seeker", "Seeker", f"Day {number}.")])
        for number in range(1, size.conversations + 1)
    )
    import_conversations(dataset=dataset, found=records, actor=owner)
    study = create_study(slug="benchmark", title="Benchmark", owner=owner)
    framework = Framework.objects.latest_versions().get(slug=FRAMEWORK)
    add_block(
        study=study, slug="main", title="Main", dataset=dataset, frameworks=[framework], groups={RaterKind.EXPERT: None}
    )
    activate(study=study, by=owner)
    endpoints = [
        Endpoint.objects.create(
            name=f"fake-{port}",
            base_url=f"http://127.0.0.1:{port}/v1",
            model="fake",
            max_concurrent=SLOTS,
            takes_seed=True,
        )
        for port in ports
    ]
    return [study, *endpoints]


def make_run(study: Any, endpoint: Any, *, seed: int, samples: int) -> Any:
    from apps.llm.services.model_raters import ensure_model_rater
    from apps.llm.services.planning import RunSelection, create_run
    from apps.llm.services.prompting import default_version

    owner = study.memberships.get().user
    version = default_version(study=study, by=owner)
    model_rater = ensure_model_rater(version=version, endpoint=endpoint, seed=seed, samples=samples, by=owner)
    return create_run(study=study, model_rater=model_rater, selection=RunSelection(), by=owner)


def follow(run: Any, pid: int | None = None) -> dict[str, Any]:
    """Starts the run and waits for its end: the seconds, and the worker's memory after a quarter and at the end."""
    from django.db import transaction

    from apps.llm.models import CallState, RunState
    from apps.llm.services.controls import start_run
    from apps.llm.tasks import trigger_endpoint

    n_calls = run.calls.count()
    began, mib_before = time.monotonic(), None
    with transaction.atomic():
        start_run(run=run, by=run.created_by)
        trigger_endpoint(run.endpoint_id)
    while run.state != RunState.DONE:
        if time.monotonic() - began > WAIT_SECONDS or run.state == RunState.PAUSED:
            sys.exit(f"The run stands still: {run.state} {run.pause} {run.pause_detail}")
        time.sleep(0.05 if pid is None else 0.2)
        run.refresh_from_db()
        if pid and mib_before is None and run.calls.filter(state=CallState.DONE).count() >= n_calls // 4:
            mib_before = memory_of(pid)
    seconds = time.monotonic() - began
    return {"seconds": seconds, "calls": n_calls, "mib_before": mib_before, "mib_after": pid and memory_of(pid)}


def memory_of(pid: int) -> float:
    """MiB that the process holds in memory now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def count_ratings() -> int:
    from apps.annotation.models import Rating

    return Rating.objects.count()


def is_worker_seen() -> bool:
    from apps.common.services.heartbeats import is_worker_alive

    return is_worker_alive()


# --- Processes --------------------------------------------------------------------------------------------------------


@contextmanager
def process(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process group of its own, which is stopped at the end."""
    started = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **options)
    try:
        yield started
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, number)
                started.wait(30)
                break
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: Callable[[], bool], problem: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(problem)
        time.sleep(0.05)


# --- What it prints ---------------------------------------------------------------------------------------------------


def report(found: dict[str, dict[str, Any]], quick: bool) -> None:
    size = QUICK if quick else FULL
    best = size.calls * LATENCY_MS / 1000 / SLOTS
    print(f"{size.calls} calls of {LATENCY_MS} ms with {SLOTS} slots; at best {best:.1f} s")
    print(f"{'broker':<10}{'database':<12}{'seconds':>9}{'efficiency':>12}{'requests':>10}{'ratings':>9}{'MiB':>20}")
    for broker, figures in found.items():
        if "problem" in figures:
            print(f"{broker:<10}not measured: {figures['problem']}")
            continue
        growth = figures["mib_after"] / figures["mib_before"] - 1
        memory = f"{figures['mib_before']:.0f} -> {figures['mib_after']:.0f} ({growth:+.1%})"
        print(
            f"{broker:<10}{figures['database']:<12}{figures['seconds']:>9.1f}{figures['efficiency']:>12.1%}"
            f"{figures['requests']:>10}{figures['ratings']:>9}{memory:>20}"
        )
    measured = [figures for figures in found.values() if "problem" not in figures]
    print(f"memory: after a quarter of {measured[0]['watched_calls'] if measured else 0} calls, and at their end")
    if quick:
        print(f"efficiency_redis and efficiency_embedded are null: measured with {size.calls} calls only.")
    counts = {name: {broker: one[name] for broker, one in found.items() if name in one} for name in COUNTS}
    unlike = {name: by_broker for name, by_broker in counts.items() if len(set(by_broker.values())) > 1}
    for name, by_broker in unlike.items():
        print(f"{name} is null: {', '.join(f'{count:,} with {broker}' for broker, count in by_broker.items())}.")
    line: dict[str, float | None] = {
        f"efficiency_{broker}": None if quick or "problem" in one else round(one["efficiency"], 3)
        for broker, one in found.items()
    }
    line |= {name: None if name in unlike else next(iter(by.values()), None) for name, by in counts.items()}
    print(json.dumps(line))
    if unlike:
        sys.exit("The two brokers did not come to the same.")


if __name__ == "__main__":
    main()
