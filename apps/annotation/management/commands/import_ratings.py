"""`python manage.py import_ratings FILE --study SLUG --block SLUG`: finished ratings of a file into a block."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.annotation.parsing.mapping import RatingMapping
from apps.annotation.parsing.reading import ParsedFile, Told
from apps.annotation.services.importing import (
    ImportResult,
    RatingImportFollower,
    RatingsFile,
    RatingsRefusedError,
    import_ratings,
)
from apps.corpus.command_options import add_pairs, encoding_hint, files_and_pairs
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.mapping import listed
from apps.corpus.parsing.records import EncodingError, FileError
from apps.corpus.parsing.rows import Table
from apps.studies.models import Block, RaterKind
from apps.studies.services.raters import RaterConflict


class _Teller(RatingImportFollower):
    """Says how the file is read as soon as that is known."""

    def __init__(self, command: BaseCommand) -> None:
        self._out = command.stdout

    def opened(self, table: Table, mapping: RatingMapping) -> None:
        pairs = [f"{name}={column}" for name, column in mapping.as_dict().items()]
        self._out.write(f"{table.format}, read as {' '.join(pairs)}")
        unused = [column for column in table.columns if column not in mapping.used()]
        if unused:
            self._out.write(f"Columns not read: {listed(unused)}")


class Command(BaseCommand):
    help = (
        "Import finished ratings from a CSV, TSV, JSONL, JSON, XLSX or Parquet file, wide (one column for each "
        "dimension) or long (one row for each rating). All is stored or nothing; what is there already is unchanged."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", metavar="FILE")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--block", required=True, metavar="SLUG")
        parser.add_argument("--rater", default="", metavar="NAME", help="whose ratings; default: a column of the file")
        kinds = ", ".join(RaterKind.values)
        parser.add_argument("--kind", default="", metavar="KIND", help=f"of new raters: {kinds}")
        parser.add_argument(
            "--aggregate", action="store_true", help="the values are means or medians of several raters"
        )
        add_pairs(parser, "--map", dest="maps", metavar="field=column")
        parser.add_argument("--format", metavar="F", help=f"{', '.join(Format)}; default: told by content")
        parser.add_argument("--encoding", metavar="E", help="default: by byte order mark, else UTF-8")
        parser.add_argument("--empty-is-missing", action="store_true", help="an empty cell is no rating, no problem")
        parser.add_argument("--skip-problem-rows", action="store_true", help="store the good rows, list the rest")
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        block = self._block(options["study"], options["block"])
        told = Told(options["rater"], options["kind"], options["aggregate"], options["empty_is_missing"])
        files, (maps,) = files_and_pairs([options["file"]] if options["file"] else [], options["maps"])
        if len(files) > 1:
            raise CommandError(f"One file at a time, not {' and '.join(files)}.")
        path = Path(files[0])
        try:
            with path.open("rb") as file:
                result = import_ratings(
                    block=block,
                    source=RatingsFile(path.name, file, options["format"], options["encoding"]),
                    told=told,
                    maps=maps,
                    skip_problem_rows=options["skip_problem_rows"],
                    dry_run=options["dry_run"],
                    follower=_Teller(self),
                )
        except OSError as error:
            raise CommandError(f"{path} cannot be opened: {error.strerror or error}.") from None
        except EncodingError as error:
            raise CommandError(f"{error}{encoding_hint(error)} Nothing was imported.") from None
        except (FileError, RaterConflict) as error:
            raise CommandError(f"{str(error).rstrip('.')}. Nothing was imported.") from None
        except RatingsRefusedError as refusal:
            self._list_findings(refusal.parsed)
            raise CommandError(self._refusal(refusal.parsed)) from None
        self._list_findings(result.parsed)
        self._sum_up(block, result, dry_run=options["dry_run"])

    @staticmethod
    def _block(study: str, slug: str) -> Block:
        blocks = Block.objects.filter(study__slug=study).select_related("study")
        found = blocks.filter(slug=slug).first()
        if found is None:
            known = list(blocks.values_list("slug", flat=True))
            hint = f" Its blocks are: {listed(known)}." if known else " There is no such study, or it has no blocks."
            raise CommandError(f"The study {study} has no block {slug}.{hint}")
        return found

    def _list_findings(self, parsed: ParsedFile) -> None:
        for line in (*parsed.problems.lines("Problems"), *parsed.notices.lines("Warnings")):
            self.stdout.write(line)

    @staticmethod
    def _refusal(parsed: ParsedFile) -> str:
        count = parsed.problems.total
        hint = "Mend the file, or store the other rows with --skip-problem-rows."
        if any("is empty" in problem.message for problem in parsed.problems.shown):
            hint += " If an empty cell means that nobody rated, add --empty-is-missing."
        return f"Nothing was imported: {count} {'problem' if count == 1 else 'problems'}. {hint}"

    def _sum_up(self, block: Block, result: ImportResult, *, dry_run: bool) -> None:
        tally, parsed = result.tally, result.parsed
        extras = [
            f"{words}: {count}"
            for words, count in (
                ("empty cells", parsed.missing),
                ("repeated", parsed.repeated),
                ("rows of other blocks", parsed.other_blocks),
                ("new raters", len(result.new_raters)),
                ("problems", parsed.problems.total),
            )
            if count
        ]
        self.stdout.write(
            f"{block.study.slug}/{block.slug}: {tally.created} ratings added, {tally.changed} changed, "
            f"{tally.unchanged} as they were"
            + "".join(f", {extra}" for extra in extras)
            + "."
            + (" Nothing was stored (dry run)." if dry_run else "")
        )
