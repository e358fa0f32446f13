"""Contents of reports, made from tables that a person would note down."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from apps.measures.pairs import Convention
from apps.measures.scale import Level
from apps.reliability.accounting import Account
from apps.reliability.agreement import Settings, analyse
from apps.reliability.comparisons import file_plan, study_plan
from apps.reliability.frozen import Freezer
from apps.reliability.labels import BlockLabel, DimensionLabel, FrameworkLabel, PointLabel, ScaleLabel
from apps.reliability.matrix import Kind, RatingTable, TableKey
from apps.reliability.selection import DataSelection
from apps.reports.contents import Comparisons, ReportContent, ReportOptions
from tests.reliability.conftest import make_table

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
KINDS = {"e1": Kind.EXPERT, "e2": Kind.EXPERT, "e3": Kind.EXPERT, "gpt": Kind.LLM, "crowd": Kind.CROWD}
WORDS = ("not at all", "", "somewhat", "", "very much")


def study_tables(dimensions: Sequence[str] = ("warmth", "fluency")) -> list[RatingTable]:
    """Three experts, a model and an imported crowd on eight items of each scale; one item nobody rated."""
    columns = {
        "e1": [1, 2, 3, 4, 5, 3, 2, None],
        "e2": [1, 2, 4, 4, 5, 2, 2, None],
        "e3": [2, 2, 3, 5, 5, 3, 1, None],
        "gpt": [1, 3, 3, 4, 4, 3, 2, None],
        "crowd": [1.5, 2, 3.25, 4, 10 / 3, 3, 2, None],
    }
    return [
        make_table(columns, kinds=KINDS, aggregates=("crowd",), key=TableKey("letters", "care", dimension))
        for dimension in dimensions
    ]


def content_of(
    tables: Sequence[RatingTable],
    *,
    of_study: bool = True,
    resamples: int = 50,
    options: ReportOptions | None = None,
    account: Account | None = None,
    selection: DataSelection | None = None,
    **changes: Any,
) -> ReportContent:
    """A report of the tables: a study `grief`, or a file `ratings.csv`."""
    chosen = options or ReportOptions()
    freezer = Freezer()
    settings = Settings(chosen.convention, resamples, 7)
    plan = study_plan if of_study else file_plan
    agreement = analyse(freezer.passing(tables), settings, plan=plan, both_conventions=True)
    return ReportContent(
        **{
            "title": "Letters of grief",
            "study": "grief" if of_study else "",
            "ratings_file": "" if of_study else "ratings.csv",
            "generated_at": AT,
            "agreement": agreement,
            "comparisons": Comparisons(of_study=of_study),
            "options": chosen,
            "scales": tuple(label_of(table) for table in tables),
            "account": account or Account(),
            "selection": selection or DataSelection(),
            "versions": {"accord": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
            "command": "python manage.py agreement --study grief",
            "data": freezer.bytes(),
        }
        | changes
    )


def label_of(table: RatingTable) -> ScaleLabel:
    key, points = table.key, table.scale.points
    texts = WORDS if len(points) == len(WORDS) and table.scale.level is Level.ORDINAL else ("",) * len(points)
    dimension = DimensionLabel(
        slug=key.dimension,
        label=key.dimension.capitalize(),
        question="",
        level=table.scale.level.value,
        polarity="+",
        points=tuple(PointLabel(point, text) for point, text in zip(points, texts, strict=True)),
    )
    framework = FrameworkLabel(
        slug=key.framework,
        version=2 if key.framework else 0,
        name="Care Scales" if key.framework else "",
        citation="Someone (2020). On care." if key.framework else "",
        url="",
        language="en",
        stem="",
        dimensions=(dimension,),
    )
    block = BlockLabel(
        slug=key.block,
        title=key.block.capitalize(),
        dataset="Old letters" if key.block else "",
        source="",
        licence="",
        frameworks=((key.framework, framework.version),),
    )
    return ScaleLabel(block, framework, dimension)


def file_tables(columns: dict[str, list], **options: Any) -> list[RatingTable]:
    """One table as a file of ratings gives it: no kinds, no block, no framework."""
    table = make_table(columns, key=TableKey("", "", options.pop("dimension", "")), **options)
    raters = [type(rater)(rater.name, None, rater.is_aggregate) for rater in table.raters]
    return [RatingTable.of(table.key, table.scale, table.items, raters, table.values, table.repeats)]


OBSERVED = ReportOptions(convention=Convention.OBSERVED)
