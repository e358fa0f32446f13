"""Prepares the site, then keeps its processes alive until Ctrl-C. Standard library only; started by bin/start."""

import contextlib
import ctypes
import fcntl
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("ACCORD_VAR") or ROOT / "var").resolve()
HOST = os.environ.get("HOST") or "127.0.0.1"
PORT = os.environ.get("PORT") or "8000"
START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 20
RESTART_PAUSE_SECONDS = 2
PR_SET_PDEATHSIG = 1  # linux/prctl.h
# What each demo login is for: the role stands in the file of logins.
FIRST_STEPS = {
    "admin": ("admin", "sees people and every study: {address}"),
    "researcher": ("researcher", "runs the demo study: {address}studies/demo/"),
    "annotator": ("expert", "rates in the demo study: {address}studies/demo/rate/"),
}
# It would come after the logins and take them off the screen. In a container everybody is root.
NO_WARNING_OF_ROOT = "ignore:You're running the worker with superuser privileges"
LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """In a new child, on Linux: be told to stop when this process is killed in a way that it cannot catch."""
    with contextlib.suppress(AttributeError):
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass
class Service:
    """One process of the site, in a process group of its own so that its children end with it."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = field(default=0.0)

    def start(self) -> None:
        # One thread so far, so running code between fork and exec is safe.
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509
        )
        self.started_at = time.monotonic()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def refuse_taken_port() -> None:
    """Say so before anything starts; the real bind is the web server's."""
    family = socket.AF_INET6 if ":" in HOST else socket.AF_INET
    try:
        if int(PORT) == 0:
            raise ValueError("a port must be named")
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST.strip("[]"), int(PORT)))
    except (OSError, ValueError, OverflowError) as error:
        raise SystemExit(
            f"Accord cannot listen on HOST {HOST}, PORT {PORT}: {error}. Set PORT or HOST to another."
        ) from None


def hold_folder() -> IO[str]:
    """One start for one folder at a time: two would migrate it, and run workers in it, over each other."""
    try:
        VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (VAR / "start.lock").open("a")
    except OSError as error:
        raise SystemExit(
            f"Accord cannot write to {VAR}: {error.strerror}. Set ACCORD_VAR to a folder of yours."
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit(
            f"Accord is running with {VAR} already. Stop it first, or set ACCORD_VAR and PORT to others."
        ) from None
    return lock


def clear_stale_mailboxes() -> None:
    """Control messages to workers that are gone; nobody will ever read them."""
    for stale in (VAR / "broker" / "queue").glob("*pidbox.msg"):
        stale.unlink(missing_ok=True)


def broker_has_exchanges() -> bool:
    """Whether the worker has made the broker's exchange files, which two processes must not make at once."""
    return bool(os.environ.get("REDIS_URL")) or any((VAR / "broker" / "control").glob("*.exchange"))


def python_module(*arguments: str) -> list[str]:
    return [sys.executable, "-m", *arguments]


def services() -> list[Service]:
    """The worker comes first: it makes the broker's exchange files before anybody else needs them."""
    # One worker for one broker folder: a fixed name leaves no stale mailboxes behind.
    worker = ["celery", "--quiet", "-A", "config", "worker", "-n", "accord@local", "--pool", "threads"]
    worker += ["--concurrency", "4", "--loglevel", "WARNING"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    beat = ["celery", "--quiet", "-A", "config", "beat", "--loglevel", "WARNING", "--pidfile", ""]
    web = ["gunicorn", "config.wsgi", "--bind", host_and_port(), "--worker-class", "gthread", "--workers", "2"]
    web += ["--threads", "4", "--keep-alive", "30", "--log-level", "warning"]
    return [
        Service("worker", [sys.executable, "-W", NO_WARNING_OF_ROOT, "-m", *worker]),
        Service("beat", python_module(*beat)),
        Service("web", python_module(*web)),
    ]


def prepare() -> None:
    """Migrate, load the frameworks and the demo, gather static files: one process, so that a second start is quick."""
    demo = "--demo" if is_loopback(HOST) else "--close-demo-logins"
    finished = subprocess.run([sys.executable, "manage.py", "prepare", demo], cwd=ROOT, check=False)
    if finished.returncode != 0:
        sys.exit(finished.returncode)


def host_and_port() -> str:
    """As servers and addresses want it: an IPv6 address in brackets."""
    host = f"[{HOST}]" if ":" in HOST and not HOST.startswith("[") else HOST
    return f"{host}:{PORT}"


def address() -> str:
    return f"http://{host_and_port()}/"


def answers(path: str) -> bool:
    reachable = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(HOST.strip("[]"))  # noqa: S104
    base = f"http://{reachable}:{PORT}/" if reachable else address()
    request = urllib.request.Request(base + path, headers={"Host": f"localhost:{PORT}"})
    try:
        with urllib.request.urlopen(request, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def wait_until(condition: Callable[[], bool], *, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.2)
    return False


def announce() -> None:
    print(f"\nAccord is at {address()}  (Ctrl-C stops it)", flush=True)
    logins = VAR / "demo-logins.json"
    if not is_loopback(HOST):
        lines = [
            "Others can reach this address, so the demo logins are closed (docs/running.md).",
            "  ALLOWED_HOSTS  the names by which others reach it",
            "  BASE_URL       the address in mails",
            "  A login:       .venv/bin/python manage.py create_user EMAIL --role admin --password-stdin",
        ]
        print("\n".join(lines), flush=True)
    elif logins.exists():
        lines = [line for one in json.loads(logins.read_text()) for line in login_lines(one)]
        print("\n".join([f"Demo logins (random, kept in {logins}):", *lines]), flush=True)


def login_lines(login: dict[str, str]) -> list[str]:
    """The login, and below it where that person begins."""
    name, step = FIRST_STEPS[login["role"]]
    return [
        f"  {name:<11} {login['email']:<26} {login['password']}",
        f"  {'':<11} {step.format(address=address())}",
    ]


def stop(running: list[Service]) -> None:
    for service in running:
        service.signal(signal.SIGTERM)
    if not wait_until(lambda: not any(service.is_running() for service in running), seconds=STOP_TIMEOUT_SECONDS):
        for service in running:
            service.signal(signal.SIGKILL)


def restart_what_died(running: list[Service]) -> None:
    """A dead worker or beat comes back; a dead web server ends everything, since its port may be taken."""
    for service in running:
        if service.is_running():
            continue
        if service.name == "web":
            raise SystemExit("The web server stopped.")
        if time.monotonic() - service.started_at > RESTART_PAUSE_SECONDS:
            print(f"The {service.name} stopped; starting it again.", flush=True)
            service.start()


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    signal.signal(signal.SIGTERM, interrupt)
    # Said outright: a start in the background of a script inherits an ignored Ctrl-C, and then would never stop.
    signal.signal(signal.SIGINT, interrupt)
    # A closed terminal stops it too, unless it was told to outlive that (nohup).
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, interrupt)
    os.environ.setdefault("BASE_URL", address().rstrip("/"))
    # Several processes share the cores: threads inside each one's linear algebra only get in each other's way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    refuse_taken_port()
    lock = hold_folder()
    running = services()
    worker, web = running[0], running[-1]
    try:
        prepare()
        clear_stale_mailboxes()
        worker.start()
        wait_until(lambda: broker_has_exchanges() or not worker.is_running(), seconds=START_TIMEOUT_SECONDS)
        for service in running[1:]:
            service.start()
        if not wait_until(lambda: answers("healthz") or not web.is_running(), seconds=START_TIMEOUT_SECONDS):
            raise SystemExit("The web server did not answer within a minute.")
        if not web.is_running():
            raise SystemExit(f"The web server could not start: is port {PORT} taken? Set PORT to another.")
        announce()
        while True:
            time.sleep(1)
            restart_what_died(running)
    except KeyboardInterrupt:
        print("\nStopping ...", flush=True)
    finally:
        stop(running)
        lock.close()


if __name__ == "__main__":
    main()
