"""The agreement report of a study, or of a file of ratings, as files in a folder."""

import re
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.corpus.parsing.records import FileError
from apps.measures.pairs import Convention
from apps.measures.scale import Level
from apps.reliability.agreement import DEFAULT_RESAMPLES, Settings
from apps.reliability.comparisons import MAX_RATERS_IN_FILE_PAIRS
from apps.reliability.selection import DataSelection
from apps.reliability.services.snapshots import NothingRatedError, take_snapshot
from apps.reports.building import build_files
from apps.reports.contents import DEFAULT_THRESHOLD, Comparisons, Part, ReportContent, ReportOptions, Stars
from apps.reports.file_contents import content_of_file
from apps.reports.folders import parse_formats, write_files
from apps.reports.plans import ReportPlan
from apps.reports.rating_files import DeclaredPoints, RatingFile, declare_points, read_rating_file
from apps.reports.services.contents import content_of_snapshot, content_of_study
from apps.reports.services.models_asked import with_models
from apps.reports.services.requesting import PlanError, check_plan
from apps.reports.wording import undefined_counts
from apps.studies.models import Study

DEFAULT_FILE_SEED = 2026
# The contract's bound is the reader's patience; this one is a slip of the finger.
MOST_RESAMPLES = 100_000


class Command(BaseCommand):
    help = "Writes the agreement between raters, statistic by statistic, into a folder."
    # With --ratings nothing is asked of a database, so nothing about one is checked.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        # Points may begin with a negative one: -1,0,1 and -3..3 are values, and no option looks like them.
        parser._negative_number_matcher = re.compile(r"-[0-9.][0-9.,\-]*")
        source = parser.add_argument_group("what is analysed (one of them)")
        source.add_argument("--study", metavar="SLUG")
        source.add_argument("--ratings", metavar="FILE", help="a long file: item,rater,value[,dimension]")
        parser.add_argument("--out", metavar="DIR", required=True)
        parser.add_argument("--convention", default=Convention.SCALE.value, help="of weighted kappa: scale or observed")
        parser.add_argument("--bootstrap", metavar="N", default=str(DEFAULT_RESAMPLES), help="resamples; 0: none")
        parser.add_argument("--seed", metavar="N", help="default: the study's seed, or 2026 for a file")
        parser.add_argument("--formats", default="csv,json", help="of csv,json,xlsx,tex,html,txt,svg,png,zip")
        shown = parser.add_argument_group("what is shown of it; no figure changes")
        shown.add_argument("--parts", metavar="PART,...", default=",".join(Part), help=f"of {', '.join(Part)}")
        shown.add_argument("--statistics", metavar="NAME,...", default="", help="default: every statistic")
        shown.add_argument("--rater", metavar="NAME", action="append", default=[], help="figures that name this rater")
        shown.add_argument("--stars", default=Stars.ADJUSTED.value, help=f"by {', '.join(Stars)}")
        shown.add_argument("--threshold", default=str(DEFAULT_THRESHOLD), help="the line in the benchmark figure")
        shown.add_argument("--all-figures", action="store_true", help="those of each scale and rater as well")
        study = parser.add_argument_group("with --study")
        study.add_argument("--all-pairs", action="store_true", help="crowd workers one by one as well")
        study.add_argument("--pool-models", action="store_true", help="the models' median as well")
        study.add_argument(
            "--where", metavar="NAME=VALUE", action="append", default=[], help="only conversations with it"
        )
        study.add_argument("--with-excluded", action="store_true", help="what is excluded takes part all the same")
        study.add_argument("--block", metavar="SLUG", default="", help="show one block")
        study.add_argument("--framework", metavar="SLUG", default="", help="show one framework")
        study.add_argument("--group", metavar="NAME", action="append", default=[], help="show experts, llms, crowd ...")
        file = parser.add_argument_group("with --ratings")
        file.add_argument("--points", help="the points of the scale in order: 1,2,3,4,5 or low,medium,high or 0..10")
        file.add_argument("--level", help="ordinal (default) or nominal")
        file.add_argument(
            "--aggregate",
            metavar="RATER",
            nargs="+",
            action="extend",
            default=[],
            help="may give values between points",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        _check_together(options)
        chosen = _report_options(options)
        content = self._of_study(options, chosen) if options["study"] else self._of_file(options, chosen)
        try:
            written = write_files(build_files(content), Path(options["out"]))
        except OSError as error:
            raise CommandError(f"The report cannot be written to {options['out']}: {error.strerror}.") from None
        self._summarise(content)
        for path in written:
            self.stdout.write(f"wrote {path}")

    def _of_study(self, options: dict[str, Any], chosen: ReportOptions) -> ReportContent:
        """From a snapshot, which the pages show as well; computed at once where none is like what was asked for."""
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}.")
        _check_narrowing(study, chosen)
        settings = _settings(options, default_seed=study.seed)
        selection = DataSelection.of(_metadata(options["where"]), with_excluded=options["with_excluded"])
        comparisons = Comparisons(all_pairs=options["all_pairs"], pool_models=options["pool_models"])
        if not comparisons.options and settings.seed == study.seed:
            try:
                snapshot = take_snapshot(study=study, selection=selection, resamples=settings.resamples)
                return with_models(content_of_snapshot(snapshot, chosen), study)
            except NothingRatedError as nothing:
                if not selection.is_everything:
                    raise CommandError(str(nothing)) from None
                self.stdout.write(str(nothing))
        content = content_of_study(
            study=study,
            settings=settings,
            options=chosen,
            comparisons=comparisons,
            selection=selection,
            at=timezone.now(),
        )
        return with_models(content, study)

    def _of_file(self, options: dict[str, Any], chosen: ReportOptions) -> ReportContent:
        settings = _settings(options, default_seed=DEFAULT_FILE_SEED)
        points = _points(options)
        found = self._read(Path(options["ratings"]), points, options["aggregate"])
        raters = max(len(table.raters) for table in found.tables)
        if raters > MAX_RATERS_IN_FILE_PAIRS:
            self.stdout.write(
                f"{raters} raters: pairs are written up to {MAX_RATERS_IN_FILE_PAIRS}, so only the group."
            )
        return content_of_file(
            found,
            name=Path(options["ratings"]).name,
            points=points,
            points_text=options["points"],
            aggregates=options["aggregate"],
            settings=settings,
            options=chosen,
            at=timezone.now(),
        )

    def _read(self, path: Path, points: DeclaredPoints, aggregates: list[str]) -> RatingFile:
        """The file's tables; its problems are listed on stderr, one a line."""
        try:
            with path.open("rb") as file:
                found = read_rating_file(file, points, aggregates=aggregates)
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        except FileError as error:
            raise CommandError(f"{path.name}: {error}") from None
        for problem in found.problems.shown:
            self.stderr.write(str(problem))
        if found.problems.total:
            more = f", {found.problems.hidden} more than are listed" if found.problems.hidden else ""
            total = found.problems.total
            problems = "1 problem" if total == 1 else f"{total} problems"
            raise CommandError(f"{path.name} has {problems}{more}; nothing was written.")
        if found.unread:
            self.stdout.write(f"Columns that play no part: {', '.join(found.unread)}.")
        return found

    def _summarise(self, content: ReportContent) -> None:
        agreement, settings = content.agreement, content.settings
        self.stdout.write(
            f"{content.study or content.ratings_file}: ratings {agreement.ratings}, raters {agreement.raters}, "
            f"tables {agreement.tables}; convention {settings.convention}, {settings.resamples} resamples, "
            f"seed {settings.seed}"
        )
        self.stdout.write(_rows_in_words(content))
        for note in content.notes:
            place = "/".join(part for part in (note.block, note.framework, note.dimension) if part)
            self.stdout.write(f"note on {' '.join(part for part in (place, note.a) if part)}: {note.text}")


def _rows_in_words(content: ReportContent) -> str:
    reasons = undefined_counts(content.rows)
    if not reasons:
        return f"{len(content.rows)} rows, all defined"
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons)
    return f"{len(content.rows)} rows, {sum(count for _reason, count in reasons)} undefined ({listed})"


def _check_together(options: dict[str, Any]) -> None:
    """Options that contradict each other or lack another."""
    if bool(options["study"]) == bool(options["ratings"]):
        raise CommandError("Give either --study SLUG or --ratings FILE.")
    if options["ratings"]:
        if not options["points"]:
            raise CommandError("--ratings needs --points, the points of the scale in order, for example 1,2,3,4,5.")
        if options["all_pairs"] or options["pool_models"]:
            raise CommandError("--all-pairs and --pool-models go with --study: a file does not tell kinds of raters.")
        if any(options[name] for name in ("where", "with_excluded", "block", "framework", "group")):
            raise CommandError(
                "--where, --with-excluded, --block, --framework and --group go with --study: a file has none of them."
            )
    elif options["points"] or options["level"] or options["aggregate"]:
        raise CommandError("--points, --level and --aggregate go with --ratings: a study has its scales and raters.")


def _report_options(options: dict[str, Any]) -> ReportOptions:
    """What is shown, and in which files. Raises CommandError."""
    try:
        threshold = float(options["threshold"])
    except ValueError:
        raise CommandError(f"--threshold is {options['threshold']}; expected a number from 0 to 1.") from None
    try:
        return ReportOptions.from_dict(
            {
                "convention": options["convention"],
                "parts": _listed(options["parts"]),
                "statistics": _listed(options["statistics"]),
                "block": options["block"],
                "framework": options["framework"],
                "groups": options["group"],
                "raters": options["rater"],
                "stars": options["stars"],
                "threshold": threshold,
                "formats": parse_formats(options["formats"]),
                "all_figures": options["all_figures"],
            }
        )
    except ValueError as error:
        raise CommandError(str(error)) from None


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _check_narrowing(study: Study, chosen: ReportOptions) -> None:
    try:
        check_plan(study=study, plan=ReportPlan(options=chosen))
    except PlanError as error:
        raise CommandError(f"{error.field}: {error}") from None


def _metadata(texts: Sequence[str]) -> dict[str, list[str]]:
    """`meta.topic=sad` and so on, the values of one name together."""
    chosen: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise CommandError(f"--where is {text}; expected NAME=VALUE, for example meta.topic=loss.")
        chosen.setdefault(name, []).append(value)
    return chosen


def _settings(options: dict[str, Any], *, default_seed: int) -> Settings:
    try:
        convention = Convention(options["convention"])
    except ValueError:
        raise CommandError(
            f"Unknown convention {options['convention']}; expected one of {', '.join(Convention)}."
        ) from None
    seed = default_seed if options["seed"] is None else _whole_number(options["seed"], "--seed")
    return Settings(convention, _whole_number(options["bootstrap"], "--bootstrap", most=MOST_RESAMPLES), seed)


def _whole_number(given: Any, option: str, *, most: int = 2**32 - 1) -> int:
    text = str(given).strip()
    number = int(text) if text.isascii() and text.isdigit() else None
    if number is None or number > most:
        raise CommandError(f"{option} is {given}; expected a whole number from 0 to {most}.")
    return number


def _points(options: dict[str, Any]) -> DeclaredPoints:
    try:
        level = Level(options["level"] or Level.ORDINAL)
    except ValueError:
        raise CommandError(f"Unknown level {options['level']}; expected one of {', '.join(Level)}.") from None
    try:
        return declare_points(options["points"], level)
    except ValueError as error:
        raise CommandError(str(error)) from None
