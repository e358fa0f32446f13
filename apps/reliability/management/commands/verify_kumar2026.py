"""`python manage.py verify_kumar2026 DIR`: the published results of Kumar et al. 2026, recomputed from their data."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.annotation.kumar2026 import read_study
from apps.annotation.kumar2026_folder import KumarError
from apps.reliability.kumar2026_check import Check, check_study


class Command(BaseCommand):
    help = (
        "Recompute the published kappas, tests, correlations and alphas of Kumar et al. 2026 from the public folder, "
        "and print beside them what is proper. No database is needed."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="holds annotations/ and original_data/")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check = check_study(options["folder"], read_study(options["folder"]))
        except KumarError as error:
            raise CommandError(str(error)) from None
        self._print_conventions(check)
        self._print_model_alphas(check)
        for problem in check.problems:
            self.stdout.write(problem)
        if check.problems:
            raise CommandError(f"{check.verdict}. Published figures that do not come out: {len(check.problems)}.")
        self.stdout.write(check.verdict)

    def _print_conventions(self, check: Check) -> None:
        differing = check.differing
        self.stdout.write(
            f"Weighted kappa, published (observed categories) and on the declared points: {len(differing)} of "
            f"{len(check.kappas)} differ at two decimals."
        )
        for kappa in differing:
            difference = kappa.scale - kappa.observed
            self.stdout.write(f"  {kappa}: {kappa.observed:.2f} and {kappa.scale:.2f} ({difference:+.3f})")
        if differing:
            most = differing[0]
            self.stdout.write(f"  At most {abs(most.observed - most.scale):.3f}: {most}.")

    def _print_model_alphas(self, check: Check) -> None:
        self.stdout.write("Alpha among models, published (GPT-4o and Claude) and of all three:")
        models = [(alpha, alpha.all_models) for alpha in check.alphas if alpha.all_models is not None]
        for alpha, of_three in models:
            difference = of_three - alpha.value
            self.stdout.write(f"  {alpha}: {alpha.value:.3f} and {of_three:.3f} ({difference:+.3f})")
        most, of_three = max(models, key=lambda one: abs(one[1] - one[0].value))
        self.stdout.write(f"  At most {abs(of_three - most.value):.3f}: {most}.")
