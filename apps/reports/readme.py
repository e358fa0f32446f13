"""`README.txt` of an archive: what each file holds, and how to compute the numbers again. Pure."""

from apps.reports.contents import ReportContent
from apps.reports.model_checks import FILE
from apps.reports.report_figures import FigurePlan
from apps.reports.wording import filter_text

_FILES = (
    ("agreement.csv", "every number of the report: one row for each statistic (six decimals)"),
    ("agreement.json", "the same rows in full precision, with how they were computed, notes and averages"),
    ("agreement.xlsx", "a workbook with one sheet for each table"),
    ("tables.tex", "tables for LaTeX; needs the packages booktabs and longtable"),
    ("report.html", "the report to read, with figures, in one file that asks no network for anything"),
    ("methods.txt", "how the numbers were computed, in words for a paper (short and long), with references"),
    ("figures/", "the figures as SVG and as PNG (300 pixels to the inch), 180 mm wide; NAME-90mm for one column"),
    ("ratings.csv", "every rating the numbers were computed from, under pseudonyms, with all digits"),
    ("items.csv", "every item, also those without a rating or a part, and why"),
    ("manifest.json", "settings, scales, raters, versions, and the SHA-256 and size of every file above"),
)


_SINGLE_FIGURES = (
    ("figures/scales/", "the figures of each scale: how it is used, its raters two by two, and point by point"),
    ("figures/raters/", "the figure of each rater: the points they use, and how much higher or lower they rate"),
)


_CHECKS = (
    (FILE, "checks for bias of the models' runs: one row for each figure of the order of points, answers drawn again"),
    (
        "",
        "and length; no agreement. An empty dimension is all scales of a run; of one scale go by p_adjusted, of all by",
    ),
    ("", "p_value. They are as they were when the report was made (computed_at), and recompute leaves them"),
)


def readme_text(content: ReportContent, plan: FigurePlan) -> str:
    """`plan`: the figures of the archive."""
    folders = {f"figures/{figure.folder}/" for figure in plan.singles}
    place = next(number for number, (name, _text) in enumerate(_FILES, start=1) if name == "figures/")
    singles = [entry for entry in _SINGLE_FIGURES if entry[0] in folders]
    checks = _CHECKS if content.shown_checks else ()
    files = [*_FILES[:2], *checks, *_FILES[2:place], *singles, *_FILES[place:]]
    width = max(len(name) for name, _text in files)
    listed = "\n".join(f"{name:<{width}}  {text}" for name, text in files)
    source = f"study {content.study}" if content.study else f"file {content.ratings_file}"
    narrowed = f"\n{filter_text(content.options)} ratings.csv holds all ratings.\n" if content.options.narrows else ""
    missing = "".join(f"\nNot drawn: {sentence}" for sentence in plan.left_out)
    missing += "\n" if missing else ""
    return f"""{content.title}
Agreement between raters, {source}
Computed on {content.generated_at:%Y-%m-%d %H:%M} UTC by Accord {content.versions.get("accord", "")}
{narrowed}
{listed}
{missing}
To compute every number again from this archive alone, without the study:

    python manage.py recompute report.zip

It says whether the digits are the same, and else what changed. Numbers are the same to the last digit with the versions
named in manifest.json; other versions of the numerical packages may differ in the last ones.

To make the same report from its source, as long as the ratings are the same:

    {content.command}

Names that a spreadsheet would take for a formula have an apostrophe before them in the CSV files and the workbook.
"""
