"""What the kinds of files are called, and what each is for."""

from django.utils.translation import gettext_lazy as _

from apps.measures.pairs import Convention
from apps.reports.contents import Format, Part, Stars
from apps.reports.model_checks import FILE as MODEL_CHECKS

FORMATS = {
    Format.HTML: (_("Report to read"), _("Tables and figures on one page that needs no network.")),
    Format.XLSX: (_("Workbook (XLSX)"), _("One sheet for each table, with numbers as numbers.")),
    Format.CSV: (_("Table (CSV)"), _("One row for each statistic, for R, Python or a spreadsheet.")),
    Format.JSON: (_("Data (JSON)"), _("The same in full precision, with how it was computed.")),
    Format.TEX: (_("Tables for LaTeX"), _("To be read into a paper.")),
    Format.TXT: (_("Methods paragraph"), _("How the numbers were computed, in words for a paper, short and long.")),
    Format.SVG: (_("Figures (SVG)"), _("Each figure as a file, sharp at every size.")),
    Format.PNG: (_("Figures (PNG)"), _("Each figure as a picture.")),
    Format.ZIP: (_("Archive of everything (ZIP)"), _("All of it with the ratings, from which it can be recomputed.")),
}
# Files of which a report has one, and which are not what their kind is otherwise.
FILES = {
    MODEL_CHECKS: (
        _("Checks for bias of models (CSV)"),
        _(
            "One row for each figure of a check of a run: the order of the points, answers drawn again, and length. No "
            "agreement; an empty dimension stands for all scales."
        ),
    ),
}
PARTS = {
    Part.PAIRS: _("Pairs: two raters or groups beside each other"),
    Part.GROUPS: _("Groups: the raters of one kind among each other"),
    Part.RETESTS: _("Retests: raters beside themselves, where items were repeated"),
}
STARS = {
    Stars.ADJUSTED: _("by the p adjusted for the number of tests"),
    Stars.RAW: _("by the p of each test on its own"),
    Stars.NONE: _("no stars"),
}
CONVENTIONS = {
    Convention.SCALE: _("by the points of the scale"),
    Convention.OBSERVED: _("by the values that occur"),
}
