"""The agreement report of a study, or of a file of ratings: `agreement.csv` and `agreement.json` in a folder."""

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.corpus.parsing.records import FileError
from apps.measures.pairs import Convention
from apps.measures.scale import Level
from apps.reliability.agreement import DEFAULT_RESAMPLES, Agreement, Settings, analyse
from apps.reliability.comparisons import MAX_RATERS_IN_FILE_PAIRS, file_plan
from apps.reliability.documents import Report
from apps.reliability.services.agreements import agreement_of_study
from apps.reports.rating_files import DeclaredPoints, RatingFile, declare_points, read_rating_file
from apps.reports.tables import UnknownFormatError, parse_formats, write_report
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
        parser.add_argument("--formats", default="csv,json")
        study = parser.add_argument_group("with --study")
        study.add_argument("--all-pairs", action="store_true", help="crowd workers one by one as well")
        study.add_argument("--pool-models", action="store_true", help="the models' median as well")
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
        try:
            formats = parse_formats(options["formats"])
        except UnknownFormatError as error:
            raise CommandError(str(error)) from None
        report = self._study_report(options) if options["study"] else self._file_report(options)
        try:
            written = write_report(report, Path(options["out"]), formats)
        except OSError as error:
            raise CommandError(f"The report cannot be written to {options['out']}: {error.strerror}.") from None
        self._summarise(report)
        for path in written:
            self.stdout.write(f"wrote {path}")

    def _study_report(self, options: dict[str, Any]) -> Report:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}.")
        agreement = agreement_of_study(
            study=study,
            settings=_settings(options, default_seed=study.seed),
            all_pairs=options["all_pairs"],
            pool_models=options["pool_models"],
        )
        chosen = tuple(name for name in ("all_pairs", "pool_models") if options[name])
        return Report(agreement, timezone.now(), study=study.slug, options=chosen)

    def _file_report(self, options: dict[str, Any]) -> Report:
        settings = _settings(options, default_seed=DEFAULT_FILE_SEED)
        points = _points(options)
        found = self._read(Path(options["ratings"]), points, options["aggregate"])
        raters = max(len(table.raters) for table in found.tables)
        if raters > MAX_RATERS_IN_FILE_PAIRS:
            self.stdout.write(
                f"{raters} raters: pairs are written up to {MAX_RATERS_IN_FILE_PAIRS}, so only the group."
            )
        agreement = analyse(found.tables, settings, plan=file_plan)
        return Report(agreement, timezone.now(), ratings_file=Path(options["ratings"]).name)

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

    def _summarise(self, report: Report) -> None:
        agreement = report.agreement
        settings = agreement.settings
        self.stdout.write(
            f"{report.study or report.ratings_file}: ratings {agreement.ratings}, raters {agreement.raters}, "
            f"tables {agreement.tables}; convention {settings.convention}, {settings.resamples} resamples, "
            f"seed {settings.seed}"
        )
        self.stdout.write(_rows_in_words(agreement))
        for note in agreement.notes:
            place = "/".join(part for part in (note.block, note.framework, note.dimension) if part)
            self.stdout.write(f"note on {' '.join(part for part in (place, note.a) if part)}: {note.text}")


def _rows_in_words(agreement: Agreement) -> str:
    reasons = agreement.undefined_counts()
    if not reasons:
        return f"{len(agreement.rows)} rows, all defined"
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    return f"{len(agreement.rows)} rows, {sum(reasons.values())} undefined ({listed})"


def _check_together(options: dict[str, Any]) -> None:
    """Options that contradict each other or lack another."""
    if bool(options["study"]) == bool(options["ratings"]):
        raise CommandError("Give either --study SLUG or --ratings FILE.")
    if options["ratings"]:
        if not options["points"]:
            raise CommandError("--ratings needs --points, the points of the scale in order, for example 1,2,3,4,5.")
        if options["all_pairs"] or options["pool_models"]:
            raise CommandError("--all-pairs and --pool-models go with --study: a file does not tell kinds of raters.")
    elif options["points"] or options["level"] or options["aggregate"]:
        raise CommandError("--points, --level and --aggregate go with --ratings: a study has its scales and raters.")


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
