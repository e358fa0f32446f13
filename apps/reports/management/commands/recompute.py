"""`python manage.py recompute ZIP`: the figures of a report's archive computed again, from the archive alone."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.reports.archive import ArchiveError
from apps.reports.recompute import Outcome, recompute

LONGEST_SENTENCE = 500


class Command(BaseCommand):
    help = "Computes every figure of a report's archive again and says whether the digits are the same."
    # Nothing is asked of a database, so nothing about one is checked.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("archive", metavar="ZIP")

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(options["archive"])
        try:
            outcome = recompute(path)
        except ArchiveError as error:
            raise CommandError(plain(str(error))) from None
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
        if outcome.is_same:
            self.stdout.write(f"recomputed {outcome.rows} rows: the same digits")
        for difference in outcome.versions:
            self.stdout.write(plain(f"version of {difference}"))
        if not outcome.is_same:
            self._tell(outcome)
            raise CommandError(_summary(outcome))

    def _tell(self, outcome: Outcome) -> None:
        for line in (*outcome.files, *outcome.figures):
            self.stdout.write(plain(line))
        if outcome.n_figures > len(outcome.figures):
            self.stdout.write(f"{outcome.n_figures - len(outcome.figures)} more differences than are listed")


def plain(sentence: str) -> str:
    """One line of bounded length that a terminal only prints: an archive of anybody's may hold any name."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in sentence)
    return shown if len(shown) <= LONGEST_SENTENCE else f"{shown[:LONGEST_SENTENCE]}..."


def _summary(outcome: Outcome) -> str:
    """What changed, in one sentence."""
    files = "1 file differs" if len(outcome.files) == 1 else f"{len(outcome.files)} differences in the files"
    figures = "1 difference" if outcome.n_figures == 1 else f"{outcome.n_figures} differences"
    parts = [files] if outcome.files else []
    if outcome.n_figures:
        under = ", under other versions" if outcome.versions else ""
        parts.append(f"{figures} in the figures{under}")
    else:
        parts.append("the same digits in every figure")
    return f"recomputed {outcome.rows} rows: {'; '.join(parts)}."
