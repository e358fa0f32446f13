"""How long the rating screen takes to save an answer, with 1, 8 and 50 raters at once, and whether any is lost.

    python benchmarks/raters.py [--quick]

A site of its own is set up in a temporary folder: a database (SQLite; on the server of DATABASE_URL, where that is
set, a new one that is dropped at the end), a study on 21 scales, 50 raters, and the web server as bin/start runs it.
Each rater signs in, opens an item and saves one scale after the other, as a click in the browser does; when the item is
full it is handed in and the next one opened. 50 raters think for a second after each answer, 1 and 8 do not. Afterwards
the database is asked what it holds. The times are those of saving alone; answers per second include handing in and
opening items. Server, database and clients share the machine. `--quick` saves less often.
"""

import argparse
import http.client
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from places import Database, warn_if_busy

ROOT = Path(__file__).resolve().parents[1]
# Raters at once -> seconds of thought after each answer, answers of each rater, and of each with --quick.
ROUNDS = {1: (0.0, 420, 21), 8: (0.0, 100, 6), 50: (1.0, 20, 2)}
RATERS, CONVERSATIONS = max(ROUNDS), 60
FRAMEWORKS = ("empathetic-dialogues", "epitome", "perceived-empathy", "lend-an-ear")
SCALES = 21
START_SECONDS, STOP_SECONDS, REQUEST_SECONDS = 60, 20, 30
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(arguments).quick
    warn_if_busy()
    # Told to stop, it takes its server along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Stopped."))
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-") as folder:
        database = Database.of(os.environ.get("DATABASE_URL", ""), Path(folder))
        try:
            measure(Path(folder), database, quick)
        finally:
            database.drop()


# --- The site -------------------------------------------------------------------------------------------------------


def measure(folder: Path, database: Database, quick: bool) -> None:
    os.environ |= {
        "ACCORD_VAR": str(folder / "var"),
        "DATABASE_URL": database.url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EMAIL_URL": "dummymail://",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    os.environ.pop("BASE_URL", None)  # https would ask for secure cookies
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    study, passwords = set_up()
    port = free_port()
    with Server(port):
        raters = [RaterAtWork(port, study, email, password) for email, password in passwords.items()]
        for rater in raters:
            rater.sign_in()
        print(f"{'raters at once':<16}{'thought, s':>11}{'saves':>8}{'median ms':>11}{'p95 ms':>9}{'per second':>12}")
        rounds = {count: play(raters[:count], count, quick) for count in ROUNDS}
    report(raters, rounds)


def set_up() -> tuple[str, dict[str, str]]:
    """The study's slug, and the raters' passwords by address."""
    from django.core.management import call_command

    from apps.accounts.models import Role, User
    from apps.corpus.models import Dataset
    from apps.corpus.parsing.records import ConversationRecord, TurnRecord
    from apps.corpus.services.importing import import_conversations
    from apps.frameworks.models import Framework
    from apps.studies.models import RaterKind
    from apps.studies.services.design import add_block, create_study
    from apps.studies.services.people import join_as_rater
    from apps.studies.services.status import activate

    call_command("prepare", verbosity=0, stdout=open(os.devnull, "w"))  # noqa: SIM115
    owner = User.objects.create_user("owner@example.org", None, role=Role.RESEARCHER)
    dataset = Dataset.objects.create(slug="benchmark", name="Benchmark", owner=owner)
    talk = [TurnRecord(role, role.title(), "It was a long day. " * 8) for role in ("seeker", "supporter")] * 5
    records = (
        ConversationRecord(number, f"c{number:03d}", [*talk, TurnRecord("seeker", "Seeker", f"Day {number}.")])
        for number in range(1, CONVERSATIONS + 1)
    )
    import_conversations(dataset=dataset, found=records, actor=owner)
    study = create_study(slug="benchmark", title="Benchmark", owner=owner)
    frameworks = [Framework.objects.latest_versions().get(slug=slug) for slug in FRAMEWORKS]
    add_block(
        study=study,
        slug="main",
        title="Main",
        dataset=dataset,
        frameworks=frameworks,
        groups={RaterKind.EXPERT: None},
    )
    activate(study=study, by=owner)
    passwords = {f"rater{number:02d}@example.org": secrets.token_urlsafe(12) for number in range(1, RATERS + 1)}
    for email, password in passwords.items():
        person = User.objects.create_user(email, password, role=Role.ANNOTATOR)
        join_as_rater(study=study, user=person, kind=RaterKind.EXPERT)
    return study.slug, passwords


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """The web server, with the options of bin/supervise.py, in a process group of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.command = [sys.executable, "-m", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}"]
        self.command += ["--worker-class", "gthread", "--workers", "2", "--threads", "4", "--keep-alive", "30"]
        self.command += ["--log-level", "warning"]

    def __enter__(self) -> None:
        self.process = subprocess.Popen(self.command, cwd=ROOT, start_new_session=True)
        end = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < end:
            try:
                if ask(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5), "/healthz").status == 200:
                    return
            except OSError:
                time.sleep(0.2)
        self.__exit__()
        sys.exit("The web server did not answer within a minute.")

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def ask(connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    return response


# --- The raters -----------------------------------------------------------------------------------------------------


class RaterAtWork:
    """One rater's browser: a connection that is kept, cookies, and the item that is open."""

    def __init__(self, port: int, study: str, email: str, password: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)
        self.home, self.email, self.password = f"/studies/{study}/rate/", email, password
        self.cookies: dict[str, str] = {}
        self.token = self.item = ""
        self.scales: list[tuple[str, str]] = []
        self.times: list[float] = []
        self.answered: set[tuple[str, str]] = set()
        self.failures: list[str] = []

    def request(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, address sent on to, and body."""
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        body = None
        if method == "POST":
            body = urllib.parse.urlencode({"csrfmiddlewaretoken": self.token, **(fields or {})})
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        text = response.read().decode()
        for cookie in response.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        if found := TOKEN.search(text):
            self.token = found[1]
        return response.status, response.headers.get("Location", ""), text

    def sign_in(self) -> None:
        self.request("GET", "/accounts/sign-in/")
        status, _, _ = self.request("POST", "/accounts/sign-in/", {"username": self.email, "password": self.password})
        if status != 302:
            sys.exit(f"{self.email} could not sign in: the site answered {status}.")

    def open_next(self) -> None:
        """Hands in what is full, takes an item, opens its page, and reads from it which scales there are."""
        self.connection.close()  # the server may have, after half a minute without a request
        if self.item:
            self.request("POST", f"{self.item}submit/")
        self.request("GET", self.home)
        status, self.item, _ = self.request("POST", f"{self.home}next/")
        page_status, _, page = self.request("GET", self.item)
        found = dict(re.findall(r'name="value-(\d+)"[^>]*?value="([^"]+)"', page))
        if status != 302 or page_status != 200 or len(found) != SCALES:
            sys.exit(f"{self.email} could not open an item: {status}, {page_status}, {len(found)} scales.")
        self.scales = list(found.items())

    def work(self, answers: int, thought: float) -> None:
        for _ in range(answers):
            if not self.scales:
                self.open_next()
            self.save(*self.scales.pop())
            time.sleep(thought)

    def save(self, dimension: str, value: str) -> None:
        fields = {"dimension": dimension, f"value-{dimension}": value, f"based-on-{dimension}": "0"}
        start = time.perf_counter()
        self.answered.add((self.item, dimension))
        try:
            status, _, text = self.request("POST", f"{self.item}save/", fields)
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            self.failures.append(f"no answer: {error!r}")
            return
        self.times.append(time.perf_counter() - start)
        if status != 200 or json.loads(text)["state"] != "saved":
            self.failures.append(f"{status}: {text[:200]}")


@dataclass
class Round:
    seconds: float
    times: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        ordered = sorted(self.times)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds


def play(raters: list[RaterAtWork], count: int, quick: bool) -> Round:
    """All of them at once, each in a thread, from the moment that everybody has an item open."""
    thought, full, short = ROUNDS[count]
    answers = short if quick else full
    for rater in raters:
        rater.times = []
        if not rater.scales:
            rater.open_next()
    threads = [threading.Thread(target=rater.work, args=(answers, thought)) for rater in raters]
    # Spread over the first second: fifty people do not click in step.
    start = time.perf_counter()
    for thread in threads:
        thread.start()
        time.sleep(thought / count)
    for thread in threads:
        thread.join()
    found = Round(time.perf_counter() - start, [taken for rater in raters for taken in rater.times])
    shown = f"{found.percentile(0.5):>11.1f}{found.percentile(0.95):>9.1f}{found.per_second:>12.1f}"
    print(f"{count:<16}{thought:>11.1f}{len(found.times):>8,}{shown}", flush=True)
    return found


def report(raters: list[RaterAtWork], rounds: dict[int, Round]) -> None:
    """What was sent and what the database holds of it, then the line of figures."""
    from django.db.models import Count

    from apps.annotation.models import Rating

    stored = Rating.objects.filter(rater__user__isnull=False)
    doubled = stored.annotate(n=Count("events")).filter(n__gt=1).count()
    sent = sum(len(rater.answered) for rater in raters)
    failures = [failure for rater in raters for failure in rater.failures]
    print(f"\n{sent:,} answers sent, {stored.count():,} stored, {doubled:,} doubled, {len(failures):,} refused")
    for failure in failures[:5]:
        print(f"  {failure}")
    figures = {"sent": sent, "stored": stored.count(), "doubled": doubled}
    figures |= {f"p95_save_ms_{count}": round(found.percentile(0.95), 1) for count, found in rounds.items()}
    print(json.dumps(figures | {"per_second_8": round(rounds[8].per_second, 1)}))


if __name__ == "__main__":
    main()
