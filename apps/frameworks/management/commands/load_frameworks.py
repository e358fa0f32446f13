"""Load the built-in frameworks, or those of the files named."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.frameworks.framework_file import FrameworkProblems, read_framework
from apps.frameworks.scales import FrameworkSpec
from apps.frameworks.services.catalog import builtin_frameworks
from apps.frameworks.services.loading import load_framework
from apps.frameworks.yaml_tree import MAX_BYTES

SHOWN_PROBLEMS = 50


class Command(BaseCommand):
    help = "Load the built-in frameworks, or those of the YAML files named. May be run again: what is there stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a framework file (docs/frameworks.md)")

    def handle(self, *, files: list[Path], **options: Any) -> None:
        specs = self._read_all(files) if files else builtin_frameworks()
        with transaction.atomic():
            loaded = [load_framework(spec=spec, builtin=not files) for spec in specs]
        for framework, outcome in ((one.framework, one.outcome) for one in loaded):
            self.stdout.write(f"{framework.slug} version {framework.version}: {outcome.label}")

    def _read_all(self, files: list[Path]) -> list[FrameworkSpec]:
        specs: dict[str, FrameworkSpec] = {}
        origins: dict[str, Path] = {}
        for path in files:
            spec = self._read(path)
            if spec.slug in specs:
                raise CommandError(f"{path} and {origins[spec.slug]} are both {spec.slug}. Nothing was loaded.")
            specs[spec.slug], origins[spec.slug] = spec, path
        return [*specs.values()]

    def _read(self, path: Path) -> FrameworkSpec:
        try:
            with path.open("rb") as file:
                # One byte more than is allowed is enough to refuse the file.
                return read_framework(file.read(MAX_BYTES + 1))
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}. Nothing was loaded.") from error
        except FrameworkProblems as error:
            for problem in error.problems[:SHOWN_PROBLEMS]:
                self.stderr.write(f"{path}: {problem}")
            count = len(error.problems)
            raise CommandError(
                f"{path} has {count} {'problem' if count == 1 else 'problems'}. Nothing was loaded."
            ) from error
