"""An archive recomputed from itself: its hashes, every figure again, and what differs. No database. Pure."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from apps.reliability.agreement import COLUMNS, Agreement, analyse
from apps.reliability.comparisons import file_plan, study_plan
from apps.reliability.documents import Report, versions
from apps.reliability.matrix import RatingTable
from apps.reports import manifest
from apps.reports.archive import MAX_MANIFEST_BYTES, Archive, ArchiveError, open_archive
from apps.reports.contents import narrowed, note_place
from apps.reports.documents import document_with, rebuilt_report
from apps.reports.long_table import LongTableError, TableHead, read_items, read_ratings
from apps.reports.manifest import Manifest, ManifestError, read_manifest
from apps.reports.rating_files import MAX_POINTS
from apps.reports.tables import csv_text

RATINGS, ITEMS = "ratings.csv", "items.csv"
CSV, JSON = "agreement.csv", "agreement.json"
# A table has a place for every rater on every item, as in a file of ratings.
MAX_CELLS = 100_000_000
MAX_RESAMPLES = 100_000
# Of a file that is read as a whole: ten times the ratings that a study is made for.
MAX_FILE_BYTES = 1 << 30
SHOWN = 20
_IDENTITY = ("block", "framework", "dimension", "statistic", "a", "b")
_SECTIONS = ("rows", "averages", "notes")


@dataclass(frozen=True)
class Outcome:
    """`rows`: how many were recomputed. `files` and `figures`: what differs in the files and in the figures, one
    sentence each; `figures` are the first few of `n_figures`. `versions`: which versions differ; no fault by itself.
    """

    rows: int
    files: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    n_figures: int = 0
    versions: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return not self.files and not self.n_figures


def recompute(path: Path) -> Outcome:
    """Raises ArchiveError in one sentence for what is no archive of a report, OSError where it cannot be opened."""
    try:
        with open_archive(path) as archive:
            return _recomputed(archive)
    except (ManifestError, LongTableError) as error:
        raise ArchiveError(str(error)) from None
    except MemoryError:
        raise ArchiveError(f"{path.name} needs more memory than this machine has.") from None


def _recomputed(archive: Archive) -> Outcome:
    if manifest.NAME not in archive.names:
        raise ArchiveError(f"The archive holds no {manifest.NAME}: it is not that of a report.")
    found = read_manifest(archive.read(manifest.NAME, most=MAX_MANIFEST_BYTES))
    if found.settings.resamples > MAX_RESAMPLES:
        raise ArchiveError(f"The manifest asks for {found.settings.resamples} resamples; at most {MAX_RESAMPLES}.")
    files = list(_changed_files(archive, found))
    agreement = _computed_again(archive, found)
    if agreement.data_hash != found.data_hash:
        files.append(f"The ratings are not those the report was made from: the hash of the data differs ({RATINGS}).")
    figures = [*_changed_cells(archive, found, agreement), *_changed_document(archive, found, agreement)]
    return Outcome(
        rows=len(agreement.rows),
        files=tuple(files),
        figures=tuple(figures[:SHOWN]),
        n_figures=len(figures),
        versions=tuple(_changed_versions(found.versions)),
    )


def _changed_files(archive: Archive, found: Manifest) -> Iterator[str]:
    """What differs from the sizes and hashes in the manifest. Raises ArchiveError for a file that is needed."""
    listed = {entry.name: entry for entry in found.files}
    for name in (RATINGS, ITEMS, CSV, JSON):
        if name not in archive.names:
            raise ArchiveError(f"The archive holds no {name}.")
        if name not in listed:
            yield f"{name} is not listed in {manifest.NAME}."
    for name, entry in listed.items():
        if name not in archive.names:
            yield f"{name} is missing."
        elif archive.entry(name) != entry:
            yield f"{name} was changed: its SHA-256 is not that of the manifest."
    for name in archive.names:
        if name not in listed and name not in (manifest.NAME, RATINGS, ITEMS, CSV, JSON):
            yield f"{name} is not listed in {manifest.NAME}."


def _computed_again(archive: Archive, found: Manifest) -> Agreement:
    """The figures from the ratings in the archive, narrowed as they were."""
    with archive.open(ITEMS, most=MAX_FILE_BYTES) as file:
        items = read_items(file)
    _check_sizes(found.heads, items)
    kept = found.comparisons
    plan = partial(study_plan, all_pairs=kept.all_pairs, pool_models=kept.pool_models) if kept.of_study else file_plan
    with archive.open(RATINGS, most=MAX_FILE_BYTES) as file:
        try:
            agreement = analyse(_tables(read_ratings(file, found.heads, items)), found.settings, plan=plan)
        except (LongTableError, ArchiveError):
            raise
        except ValueError as error:
            raise ArchiveError(f"The archive cannot be recomputed: {error}.") from None
    raters = {rater.name: rater for head in found.heads for rater in head.raters}
    rows = narrowed(agreement.rows, found.options, list(raters.values()))
    shown = {(row.block, row.framework, row.dimension, row.a) for row in rows if not row.b}
    notes = tuple(note for note in agreement.notes if note_place(note) in shown)
    return replace(agreement, rows=rows, notes=notes)


def _tables(tables: Iterable[RatingTable]) -> Iterator[RatingTable]:
    yield from tables


def _check_sizes(heads: Sequence[TableHead], items: Mapping[tuple[str, str], Sequence[str]]) -> None:
    for head in heads:
        if head.scale.q > MAX_POINTS:
            raise ArchiveError(f"The scale {'/'.join(head.key)} has {head.scale.q} points; at most {MAX_POINTS}.")
        cells = len(items.get(head.place, ())) * len(head.raters)
        if cells > MAX_CELLS:
            raise ArchiveError(
                f"The table of {'/'.join(head.key)} has {cells} places, items times raters; at most {MAX_CELLS}."
            )


def _rebuilt(found: Manifest, agreement: Agreement) -> Report:
    """What was computed again, with what the manifest says of the first time."""
    return rebuilt_report(found.recorded, found.generated_at, agreement, found.comparisons.options)


def _changed_cells(archive: Archive, found: Manifest, agreement: Agreement) -> Iterator[str]:
    """The rows of `agreement.csv` that are not the same to the digit."""
    expected = csv_text(_rebuilt(found, agreement))
    text = _text(archive, CSV)
    if text == expected:
        return
    kept, computed = _rows_of(text), _rows_of(expected)
    yield from _differences(CSV, kept, computed)
    if kept == computed:
        yield f"{CSV} holds the same rows in another order or another way of writing."


def _changed_document(archive: Archive, found: Manifest, agreement: Agreement) -> Iterator[str]:
    """What `agreement.json` says differently, with all its digits."""
    report = _rebuilt(found, agreement)
    # Through JSON and back, so that both are made of the same types.
    computed = json.loads(json.dumps(document_with(report, found.options, found.versions)))
    text = _text(archive, JSON)
    try:
        kept = json.loads(text)
        sections = {name: list(kept[name]) for name in _SECTIONS}
        meta = {**kept["meta"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        yield f"{JSON} is not a report's."
        return
    for name in sorted(set(meta) | set(computed["meta"])):
        if meta.get(name) != computed["meta"].get(name):
            yield f"{JSON}, meta: {name} is {_shown(meta.get(name))}; recomputed {_shown(computed['meta'].get(name))}"
    for name in _SECTIONS:
        if sections[name] != computed[name]:
            yield from _differences(f"{JSON}, {name}", _keyed(sections[name]), _keyed(computed[name]))


Rows = dict[tuple[str, ...], dict[str, Any]]


def _rows_of(text: str) -> Rows:
    """The rows of a CSV by who is compared on what."""
    try:
        return _keyed(list(csv.DictReader(io.StringIO(text, newline=""))))
    except csv.Error as error:
        raise ArchiveError(f"{CSV} cannot be read: {error}.") from None


def _keyed(rows: Sequence[Any]) -> Rows:
    keyed: Rows = {}
    seen: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        if not isinstance(row, dict):
            row = {"row": row}
        place = tuple(str(row.get(name) or "") for name in _IDENTITY)
        seen[place] += 1
        keyed[(*place, f"({seen[place]})") if seen[place] > 1 else place] = row
    return keyed


def _differences(where: str, kept: Rows, computed: Rows) -> Iterator[str]:
    for place, row in computed.items():
        if place not in kept:
            yield f"{where}: {_named(place)} is missing"
        elif kept[place] != row:
            yield f"{where}: {_named(place)}: {_cells(kept[place], row)}"
    for place in kept:
        if place not in computed:
            yield f"{where}: {_named(place)} does not come about from the ratings"


def _named(place: Sequence[str]) -> str:
    block, framework, dimension, statistic, a, b, *again = place
    where = "/".join(part for part in (block, framework, dimension) if part)
    who = " and ".join(part for part in (a, b) if part)
    return " ".join(
        part for part in (statistic, "of" if who else "", who, "on" if where else "", where, *again) if part
    )


def _cells(kept: Mapping[str, Any], computed: Mapping[str, Any]) -> str:
    names = [*COLUMNS, *(name for name in (*computed, *kept) if name not in COLUMNS)]
    changed = [name for name in dict.fromkeys(names) if kept.get(name) != computed.get(name)]
    return ", ".join(f"{name} is {_shown(kept.get(name))}, recomputed {_shown(computed.get(name))}" for name in changed)


def _shown(value: Any) -> str:
    text = "empty" if value in (None, "") else str(value)
    return text if len(text) <= 120 else f"{text[:120]}..."


def _text(archive: Archive, name: str) -> str:
    try:
        return archive.read(name, most=MAX_FILE_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise ArchiveError(f"{name} is not UTF-8.") from None


def _changed_versions(recorded: Mapping[str, str]) -> Iterator[str]:
    here = versions()
    for name in sorted(set(here) | set(recorded)):
        if here.get(name) != recorded.get(name):
            yield f"{name} {recorded.get(name, 'unknown')} there, {here.get(name, 'unknown')} here"
