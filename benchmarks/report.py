"""How long the agreement report of a million stored ratings takes, and how much memory.

    python benchmarks/report.py [--quick]

A database of its own is set up (SQLite in a temporary folder; on the server of DATABASE_URL, where that is set, a new
one that is dropped at the end) and filled with simulated ratings in two shapes: many items on one scale, and fewer
items with more raters on 21 scales. All raters are experts who rated on the screen, so that each of their items has an
assignment that was handed in: the dearest case. Filling is not timed. Then the full report of each study is built in a
fresh process: its snapshot from the database (both conventions, 1,000 resamples), and every file, with the archive and
its long table of ratings. Seconds are those from the first query to the last byte, without the start of Python; `cpu`
is what the process itself computed, without the database server. `growth_10x` is the time of a million ratings over
that of a tenth of them. `--quick` takes smaller sizes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from places import Database, warn_if_busy

ROOT = Path(__file__).resolve().parents[1]
SEED = 20_260_101
RESAMPLES = 1000
FRAMEWORKS = ("empathetic-dialogues", "epitome", "perceived-empathy", "lend-an-ear")
ROWS_AT_ONCE = 50_000
# The faster of so many runs counts: a database server writes down what was filled in whenever it likes.
RUNS = 2


@dataclass(frozen=True)
class Shape:
    """Every rater rates every item on every dimension."""

    items: int
    raters: int
    dimensions: int

    @property
    def ratings(self) -> int:
        return self.items * self.raters * self.dimensions

    @property
    def slug(self) -> str:
        return f"of-{self.items}-{self.raters}-{self.dimensions}"

    def __str__(self) -> str:
        return f"{self.items:,} x {self.raters} x {self.dimensions}"

    def part(self, divisor: int) -> "Shape":
        return Shape(self.items // divisor, self.raters, self.dimensions)


SHAPES = (Shape(333_333, 3, 1), Shape(6_800, 7, 21))
TENTH = 10
# A quick run takes this part of each shape for the whole, and builds each report once.
QUICK = 100


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measure", metavar="STUDY", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        print(json.dumps(measured(given.measure)))
        return
    warn_if_busy()
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-") as folder:
        database = Database.of(os.environ.get("DATABASE_URL", ""), Path(folder))
        try:
            prepare(Path(folder), database)
            run(given.quick, database)
        finally:
            database.drop()


# --- The database ---------------------------------------------------------------------------------------------------


def prepare(folder: Path, database: Database) -> None:
    """An empty site; the processes that measure inherit where it is."""
    os.environ |= {
        "ACCORD_VAR": str(folder / "var"),
        "DATABASE_URL": database.url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EMAIL_URL": "dummymail://",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.core.management import call_command

    call_command("prepare", verbosity=0, stdout=open(os.devnull, "w"))  # noqa: SIM115


def fill(shape: Shape) -> None:
    """A study of the shape. All its rows appear at once, or none."""
    from django.db import connection, transaction

    from apps.corpus.models import Dataset
    from apps.frameworks.models import Framework
    from apps.studies.models import RaterKind, StudyStatus
    from apps.studies.services.design import add_block, create_study
    from apps.studies.services.raters import NewRater, ensure_raters

    with transaction.atomic():
        dataset = Dataset.objects.create(slug=shape.slug, name=shape.slug)
        now = connection.ops.adapt_datetimefield_value(dataset.created_at)
        add_conversations(dataset.pk, shape.items, now)
        study = create_study(slug=shape.slug, title=str(shape), owner=None, status=StudyStatus.ACTIVE)
        frameworks = [Framework.objects.latest_versions().get(slug=slug) for slug in FRAMEWORKS]
        block = add_block(study=study, slug="main", title="Main", dataset=dataset, frameworks=frameworks)
        experts = [NewRater(RaterKind.EXPERT, f"expert{number}") for number in range(1, shape.raters + 1)]
        raters = [rater.pk for rater in ensure_raters(study=study, raters=experts).values()]
        items = list(block.items.order_by("position").values_list("pk", flat=True))
        add_assignments(raters, items, now)
        scales = [scale for framework in frameworks for scale in framework.dimensions.all()]
        for number, scale in enumerate(scales[: shape.dimensions]):
            add_ratings(scale, number, raters, items, now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def add_conversations(dataset: int, count: int, now: Any) -> None:
    """Without text: what is measured reads none."""
    from apps.corpus.models import Conversation

    texts = ("external_id", "title", "language", "reference", "belief", "pair", "parent", "content_hash")
    columns = ("dataset_id", "position", "metadata", "factors", "created_at", "updated_at", *texts)
    rows = (
        (dataset, place, "{}", "{}", now, now, f"conversation-{place + 1:06d}", *[""] * 6, f"{place:064x}")
        for place in range(count)
    )
    insert(Conversation, columns, rows)


def add_assignments(raters: list[int], items: list[int], now: Any) -> None:
    from apps.studies.models import Assignment, AssignmentState

    state = AssignmentState.SUBMITTED.value
    columns = ("rater_id", "item_id", "state", "position", "wall_seconds", "active_seconds", "skip_reason")
    columns += ("is_flagged", "finished_at", "created_at", "updated_at")
    rows = (
        (rater, item, state, place, 60.0, 50.0, "", False, now, now, now)
        for place, item in enumerate(items)
        for rater in raters
    )
    insert(Assignment, columns, rows)


def add_ratings(scale: Any, number: int, raters: list[int], items: list[int], now: Any) -> None:
    """Simulated: each item has a level, which each rater misses by one point now and then."""
    import numpy as np

    from apps.annotation.models import Rating

    rng = np.random.default_rng([SEED, number])
    levels = rng.integers(scale.minimum, scale.maximum + 1, size=(len(items), 1))
    missed = levels + rng.integers(-1, 2, size=(len(items), len(raters)))
    values = np.clip(missed, scale.minimum, scale.maximum).astype(float).tolist()
    columns = ("item_id", "rater_id", "dimension_id", "value", "cannot_tell", "comment", "created_at", "updated_at")
    rows = (
        (item, rater, scale.pk, value, False, "", now, now)
        for item, given in zip(items, values, strict=True)
        for rater, value in zip(raters, given, strict=True)
    )
    insert(Rating, columns, rows)


def insert(model: Any, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    from django.db import connection

    from apps.common.inserting import insert_rows

    if connection.vendor == "postgresql":
        statement = f"COPY {model._meta.db_table} ({', '.join(columns)}) FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
        return
    rows = iter(rows)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        insert_rows(model, columns, some)


# --- The report -----------------------------------------------------------------------------------------------------


def build(slug: str, folder: Path) -> int:
    """The full report of a study, from its ratings to its files: how many ratings it is of.

    What the site offers as its report is changed here, and only here.
    """
    from apps.reliability.services.snapshots import take_snapshot
    from apps.reports.building import build_files
    from apps.reports.plans import ReportPlan
    from apps.reports.services.contents import content_of_snapshot
    from apps.studies.models import Study

    plan = ReportPlan(resamples=RESAMPLES)
    snapshot = take_snapshot(study=Study.objects.get(slug=slug), selection=plan.selection, resamples=plan.resamples)
    for file in build_files(content_of_snapshot(snapshot, plan.options)):
        with (folder / file.name).open("wb") as out:
            file.write(out)
    return snapshot.n_ratings


def measured(slug: str) -> dict[str, float]:
    """Seconds, those of them that this process computed, and the most memory it ever held. Run in a process of its
    own: what fills the database takes memory as well."""
    import django

    django.setup()
    from apps.reliability.models import Snapshot

    Snapshot.objects.all().delete()
    with tempfile.TemporaryDirectory(prefix="accord-benchmark-report-") as folder:
        start, computed = time.perf_counter(), time.process_time()
        ratings = build(slug, Path(folder))
        seconds, cpu = time.perf_counter() - start, time.process_time() - computed
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {"seconds": seconds, "cpu": cpu, "peak_mib": peak_mib(), "ratings": ratings, "mib": size / 2**20}


def peak_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    sys.exit("This system does not tell the most memory that a process held.")


# --- The figures ----------------------------------------------------------------------------------------------------


def run(quick: bool, database: Database) -> None:
    print(f"Simulated ratings on {database}; reports with intervals from {RESAMPLES:,} resamples.")
    print(f"{'items x raters x scales':<30}{'ratings':>11}{'seconds':>9}{'cpu':>8}{'peak MiB':>10}{'files MiB':>11}")
    seconds, peak, growth = 0.0, 0.0, 0.0
    for shape in SHAPES:
        whole = shape.part(QUICK) if quick else shape
        of_tenth, of_whole = (report_on(one, 1 if quick else RUNS) for one in (whole.part(TENTH), whole))
        seconds = max(seconds, of_whole["seconds"])
        peak = max(peak, of_whole["peak_mib"])
        growth = max(growth, of_whole["seconds"] / of_tenth["seconds"])
    print(f"The worse of the two: {seconds:.1f} s, {peak:.0f} MiB, {growth:.1f} times as long for ten times as many.")
    figures = {"seconds_1m": round(seconds, 1), "peak_mib": round(peak), "growth_10x": round(growth, 1)}
    if quick:
        sizes = " and ".join(str(shape.part(QUICK)) for shape in SHAPES)
        print(f"seconds_1m, peak_mib and growth_10x are null: measured with {sizes} at most.")
        figures = dict.fromkeys(figures)
    print(json.dumps(figures))


def report_on(shape: Shape, times: int) -> dict[str, float]:
    """Fills the shape in, builds its report in fresh processes, and prints the line of the fastest."""
    fill(shape)
    command = [sys.executable, str(Path(__file__).resolve()), "--measure", shape.slug]
    runs = []
    for _ in range(times):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    best = min(runs, key=lambda one: one["seconds"])
    best["peak_mib"] = max(one["peak_mib"] for one in runs)
    if best["ratings"] != shape.ratings:
        sys.exit(f"{shape}: the report is of {best['ratings']:,} ratings; expected {shape.ratings:,}.")
    took = f"{best['seconds']:>9.1f}{best['cpu']:>8.1f}{best['peak_mib']:>10.0f}{best['mib']:>11.1f}"
    print(f"{shape!s:<30}{shape.ratings:>11,}{took}", flush=True)
    return best


if __name__ == "__main__":
    main()
