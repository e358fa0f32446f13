"""What the report of a file of ratings holds. Pure."""

from collections.abc import Sequence
from datetime import datetime

from apps.reliability.accounting import Account
from apps.reliability.agreement import Settings, analyse
from apps.reliability.comparisons import file_plan
from apps.reliability.documents import versions
from apps.reliability.frozen import Freezer
from apps.reliability.labels import BlockLabel, DimensionLabel, FrameworkLabel, PointLabel, ScaleLabel
from apps.reliability.matrix import TableKey
from apps.reliability.selection import DataSelection
from apps.reports.commands import file_command
from apps.reports.contents import Comparisons, ReportContent, ReportOptions
from apps.reports.rating_files import DeclaredPoints, RatingFile

# A file knows no blocks and frameworks.
_BLOCK = BlockLabel(slug="", title="", dataset="", source="", licence="", frameworks=())


def content_of_file(
    found: RatingFile,
    *,
    name: str,
    points: DeclaredPoints,
    points_text: str,
    aggregates: Sequence[str],
    settings: Settings,
    options: ReportOptions,
    at: datetime,
) -> ReportContent:
    """The report of the file called `name`, whose points were declared as `points_text`."""
    freezer = Freezer()
    agreement = analyse(freezer.passing(found.tables), settings, plan=file_plan, both_conventions=True)
    return ReportContent(
        title=name,
        study="",
        ratings_file=name,
        generated_at=at,
        agreement=agreement,
        comparisons=Comparisons(of_study=False),
        options=options,
        scales=tuple(_scale(table.key, points) for table in found.tables),
        account=Account(),
        selection=DataSelection(),
        versions=versions(),
        command=file_command(name, points_text, points.scale, aggregates, settings, options),
        data=freezer.bytes(),
    )


def _scale(key: TableKey, points: DeclaredPoints) -> ScaleLabel:
    words = {} if points.numeric else {value: label for label, value in points.labels.items()}
    dimension = DimensionLabel(
        slug=key.dimension,
        label=key.dimension,
        question="",
        level=points.scale.level.value,
        polarity="none",
        points=tuple(PointLabel(value, words.get(value, "")) for value in points.scale.points),
    )
    framework = FrameworkLabel(
        slug="", version=0, name="", citation="", url="", language="", stem="", dimensions=(dimension,)
    )
    return ScaleLabel(_BLOCK, framework, dimension)
