"""`python manage.py import_conversations FILE... --dataset SLUG`: conversations of files into a dataset."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper

from apps.accounts.command_options import person_named
from apps.corpus.command_options import add_pairs, encoding_hint, files_and_pairs
from apps.corpus.models import Dataset
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.parsing.reading import ConversationReader
from apps.corpus.parsing.records import EncodingError, FileError
from apps.corpus.services.freezing import DatasetFrozenError
from apps.corpus.services.importing import (
    ImportFollower,
    ImportRefusedError,
    ImportResult,
    SourceFile,
    import_files,
)


class _Teller(ImportFollower):
    """Prints how each file is read."""

    def __init__(self, stdout: OutputWrapper) -> None:
        self.stdout = stdout

    def opened(self, name: str, reader: ConversationReader) -> None:
        mapping = reader.mapping
        pairs = [f"{field}={column}" for field, column in (mapping.mapped() | mapping.constants).items()]
        self.stdout.write(f"{name}: {reader.table.format}, read as {' '.join(pairs)}")
        unmapped = [column for column in reader.table.columns if column not in mapping.mapped().values()]
        if unmapped:
            fate = "left out" if mapping.drop_unmapped else "kept as metadata (--drop-unmapped leaves them out)"
            self.stdout.write(f"{name}: other columns, {fate}: {', '.join(unmapped)}")


class Command(BaseCommand):
    help = (
        "Import conversations from CSV, TSV, JSONL, JSON, XLSX or Parquet files into a dataset. Several files are one "
        "import: all is stored or nothing. What is there already is skipped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", metavar="FILE")
        parser.add_argument("--dataset", required=True, metavar="SLUG", help="made if there is none of that name")
        parser.add_argument("--format", metavar="F", help=f"{', '.join(Format)}; default: told by content")
        parser.add_argument("--encoding", metavar="E", help="default: by byte order mark, else UTF-8")
        add_pairs(parser, "--map", dest="maps", metavar="field=column")
        add_pairs(parser, "--set", dest="constants", metavar="field=value")
        parser.add_argument("--drop-unmapped", action="store_true", help="do not keep other columns as metadata")
        parser.add_argument(
            "--clean-commas", action="store_true", help="replace _comma_ in texts; the raw text is kept"
        )
        parser.add_argument("--without-text", action="store_true", help="only ids and metadata: no text was published")
        parser.add_argument("--skip-problem-rows", action="store_true", help="store the good rows, list the rest")
        parser.add_argument("--dry-run", action="store_true", help="check everything, store nothing")
        parser.add_argument("--name", default="", help="name of a new dataset; default: its slug")
        parser.add_argument("--source", default="", help="of a new dataset: where the conversations come from")
        parser.add_argument("--licence", default="", help="of a new dataset")
        parser.add_argument("--owner", metavar="EMAIL", help="of a new dataset; default: it belongs to the site")

    def handle(self, *args: Any, **options: Any) -> None:
        files, (maps, constants) = files_and_pairs(options["files"], options["maps"], options["constants"])
        try:
            mapping = parse_mapping(
                maps,
                constants,
                drop_unmapped=options["drop_unmapped"],
                clean_commas=options["clean_commas"],
                without_text=options["without_text"],
            )
            dataset = self._dataset(options)
            with ExitStack() as stack:
                result = import_files(
                    dataset=dataset,
                    files=[self._open(stack, name) for name in files],
                    mapping=mapping,
                    format=options["format"],
                    encoding=options["encoding"],
                    skip_problem_rows=options["skip_problem_rows"],
                    dry_run=options["dry_run"],
                    follower=_Teller(self.stdout),
                )
        except EncodingError as error:
            raise CommandError(f"{error}{encoding_hint(error)} Nothing was imported.") from None
        except (FileError, DatasetFrozenError) as error:
            raise CommandError(f"{error} Nothing was imported.") from None
        except ImportRefusedError as refusal:
            self._list_findings(refusal.result)
            raise CommandError(self._refusal(refusal.result)) from None
        self._list_findings(result)
        self._sum_up(dataset, result, dry_run=options["dry_run"])

    def _dataset(self, options: dict[str, Any]) -> Dataset:
        slug = options["dataset"]
        dataset = Dataset.objects.filter(slug=slug).first()
        if dataset is not None:
            return dataset
        about = {name: options[name] for name in ("source", "licence")}
        dataset = Dataset(slug=slug, name=options["name"] or slug, owner=person_named(options["owner"]), **about)
        try:
            dataset.full_clean(exclude=["owner"])
        except ValidationError as error:
            problems = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
            raise CommandError(f"The dataset {slug} cannot be made. {' '.join(problems)}") from None
        return dataset

    @staticmethod
    def _open(stack: ExitStack, name: str) -> SourceFile:
        try:
            return SourceFile(Path(name).name, stack.enter_context(Path(name).open("rb")))
        except OSError as error:
            raise CommandError(f"{name} cannot be opened: {error.strerror}.") from None

    def _list_findings(self, result: ImportResult) -> None:
        for line in (
            *result.problems.lines("Problems"),
            *result.conflicts.lines("Conflicts"),
            *result.warnings.lines("Warnings"),
        ):
            self.stdout.write(line)

    @staticmethod
    def _refusal(result: ImportResult) -> str:
        parts = [
            f"{count} {word if count == 1 else word + 's'}"
            for count, word in ((result.problems.total, "problem"), (result.conflicts.total, "conflict"))
            if count
        ]
        hint = "Mend the file, or store the other rows with --skip-problem-rows."
        if result.conflicts.total:
            hint += " If only columns that are not mapped differ, --drop-unmapped leaves them out."
        return f"Nothing was imported: {' and '.join(parts)}. {hint}"

    def _sum_up(self, dataset: Dataset, result: ImportResult, *, dry_run: bool) -> None:
        counts = result.counts()
        done = "would be added" if dry_run else "added"
        self.stdout.write(
            f"{dataset.slug}: {counts['added']} conversations with {counts['turns']} turns {done}, "
            f"{counts['skipped']} skipped as already there, {counts['problems']} problems, "
            f"{counts['conflicts']} conflicts, {counts['warnings']} warnings."
            + (" Nothing was stored (dry run)." if dry_run else "")
        )
