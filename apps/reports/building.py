"""The files of a report, one after the other, from one description of what it holds.

    content = content_of_snapshot(snapshot, options)        # reports/services/contents.py
    for file in build_files(content):
        with open(folder / file.name, "wb") as out:
            file.write(out)

Nothing is computed anew: every file says what `content` says, so all of them agree. The same snapshot and options give
the same bytes. Never call this in a process that forks afterwards: figures are drawn by a library that does not survive
a fork (background work runs in threads).
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO, Self

from apps.reports import latex, methods, model_checks, xlsx
from apps.reports.archive import write_archive
from apps.reports.contents import Format, ReportContent
from apps.reports.documents import agreement_csv, agreement_json
from apps.reports.figures.palettes import PAPER
from apps.reports.figures.planned import PlannedFigure
from apps.reports.figures.render import png_of, svg_of
from apps.reports.html_report import html_of
from apps.reports.long_table import write_items, write_ratings
from apps.reports.manifest import manifest_text
from apps.reports.readme import readme_text
from apps.reports.report_figures import FigurePlan, plan_figures

# What writes the bytes of a file.
Write = Callable[[BinaryIO], None]
# Called with the name of a file before it is written, also for the files within the archive, and with that of each
# single figure of the HTML report before it is drawn.
Told = Callable[[str], None]

CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "tex": "application/x-tex; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "zip": "application/zip",
}
ARCHIVE = "report.zip"


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file to be: its name, its type, and what writes its bytes into an open file.

    Names have no folder, but for figures within the archive.
    """

    name: str
    content_type: str
    write: Write


def build_files(content: ReportContent, *, told: Told | None = None) -> Iterator[BuiltFile]:
    """The files that `content.options.formats` ask for, in a fixed order. Nothing is written before `write` is called.

    `svg` and `png` give a file for each figure, the others one each. `told` may raise to end the work.
    """
    tell = told or _nothing
    shared = _Shared.of(content, tell)
    for file in _loose_files(shared):
        yield replace(file, write=partial(_write_told, file, tell))
    if Format.ZIP in content.options.formats:
        yield BuiltFile(ARCHIVE, CONTENT_TYPES["zip"], partial(_write_archive, shared, tell))


def count_files(content: ReportContent) -> int:
    """How many times `told` will be called, for a progress bar."""
    shared, formats = _Shared.of(content, _nothing), content.options.formats
    count = len(_loose_files(shared))
    if Format.ZIP in formats:
        count += len(list(_archive_files(shared))) + 1
    return count + len(shared.plan.singles) * bool({Format.HTML, Format.ZIP} & set(formats))


class _Once:
    """A file that stands twice in a report, beside the archive and in it, and takes long to make."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._data = b""

    def __call__(self, out: BinaryIO) -> None:
        if not self._data:
            made = io.BytesIO()
            self._write(made)
            self._data = made.getvalue()
        out.write(self._data)


@dataclass(frozen=True, slots=True)
class _Shared:
    """What several files of one report are made of."""

    content: ReportContent
    plan: FigurePlan
    workbook: Write
    html: Write

    @classmethod
    def of(cls, content: ReportContent, tell: Told) -> Self:
        plan = plan_figures(content)
        html = partial(_write_text, partial(html_of, content, plan, partial(_tell_drawing, tell)))
        return cls(content, plan, _Once(partial(xlsx.write_workbook, content)), _Once(html))


def _write_archive(shared: _Shared, tell: Told, out: BinaryIO) -> None:
    """The archive of everything, whatever formats were chosen."""
    told = (replace(file, write=partial(_write_told, file, tell)) for file in _archive_files(shared))
    tell(ARCHIVE)
    write_archive(out, told, lambda entries: manifest_text(shared.content, entries))


def _archive_files(shared: _Shared) -> Iterator[BuiltFile]:
    """Every file of the archive but its manifest, in their order."""
    content = shared.content
    yield _text_file("README.txt", partial(readme_text, content, shared.plan))
    yield from _documents(shared)
    for figure in shared.plan.figures:
        folder = f"figures/{figure.folder}/" if figure.folder else "figures/"
        yield from _drawn(figure, f"{folder}{figure.name}", ("svg", "png"))
    for figure in shared.plan.overview:
        yield from _drawn(figure, f"figures/{figure.name}-90mm", ("svg", "png"), narrow=True)
    yield BuiltFile("ratings.csv", CONTENT_TYPES["csv"], partial(_write_ratings, content))
    yield BuiltFile("items.csv", CONTENT_TYPES["csv"], partial(_write_items, content))


def _loose_files(shared: _Shared) -> list[BuiltFile]:
    formats = shared.content.options.formats
    files = [file for file in _documents(shared) if file.name.rpartition(".")[2] in formats]
    pictures = [kind for kind in ("svg", "png") if kind in formats]
    if pictures:
        for figure in shared.plan.figures:
            files += _drawn(figure, f"figure-{figure.name}", pictures)
    return files


def _documents(shared: _Shared) -> Iterator[BuiltFile]:
    """One for each format that is no picture and no archive, and one more for checks of models where there are any."""
    content = shared.content
    yield _text_file("agreement.csv", partial(agreement_csv, content))
    yield _text_file("agreement.json", partial(agreement_json, content))
    if content.shown_checks:
        yield _text_file(model_checks.FILE, partial(model_checks.model_checks_csv, content))
    yield BuiltFile("agreement.xlsx", CONTENT_TYPES["xlsx"], shared.workbook)
    yield _text_file("tables.tex", partial(latex.tables_tex, content))
    yield BuiltFile("report.html", CONTENT_TYPES["html"], shared.html)
    yield _text_file("methods.txt", partial(methods.methods_text, content))


def _drawn(figure: PlannedFigure, name: str, kinds: Sequence[str], *, narrow: bool = False) -> Iterator[BuiltFile]:
    if "svg" in kinds:
        yield _text_file(f"{name}.svg", partial(_svg, figure, narrow))
    if "png" in kinds:
        yield BuiltFile(f"{name}.png", CONTENT_TYPES["png"], partial(_write_png, figure, narrow))


def _svg(figure: PlannedFigure, narrow: bool) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{svg_of(figure.drawn(PAPER), narrow=narrow)}\n'


def _write_png(figure: PlannedFigure, narrow: bool, out: BinaryIO) -> None:
    out.write(png_of(figure.drawn(PAPER), narrow=narrow))


def _text_file(name: str, text: Callable[[], str]) -> BuiltFile:
    return BuiltFile(name, CONTENT_TYPES[name.rpartition(".")[2]], partial(_write_text, text))


def _write_text(text: Callable[[], str], out: BinaryIO) -> None:
    out.write(text().encode("utf-8"))


def _write_ratings(content: ReportContent, out: BinaryIO) -> None:
    write_ratings(content.frozen.tables(), out)


def _write_items(content: ReportContent, out: BinaryIO) -> None:
    write_items(content.frozen.tables(), content.account.blocks, out)


def _write_told(file: BuiltFile, tell: Told, out: BinaryIO) -> None:
    tell(file.name)
    file.write(out)


def _tell_drawing(tell: Told, figure: PlannedFigure) -> None:
    tell(f"report.html, {figure.name}")


def _nothing(name: str) -> None:
    """Tells nobody."""
