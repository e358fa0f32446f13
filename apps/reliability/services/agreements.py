"""The agreement of a study, computed from its ratings as they are now."""

from functools import partial

from apps.reliability.agreement import Agreement, Settings, analyse
from apps.reliability.comparisons import study_plan
from apps.reliability.services.loading import load_tables
from apps.studies.models import Study


def agreement_of_study(
    *,
    study: Study,
    settings: Settings,
    block: str | None = None,
    framework: str | None = None,
    all_pairs: bool = False,
    pool_models: bool = False,
    most_comparisons: int | None = None,
) -> Agreement:
    """Every comparison of the study, or of one block or framework (slugs). Nothing is stored.

    Raises TooManyComparisonsError where there would be more than `most_comparisons`, before any is computed.
    """
    plan = partial(study_plan, all_pairs=all_pairs, pool_models=pool_models)
    tables = load_tables(study=study, block=block, framework=framework)
    if most_comparisons is not None:
        plans = [plan(raters) for raters in tables.raters_by_table()]
        total = sum(len(one.pairs) + len(one.groups) for one in plans)
        if total > most_comparisons:
            raise TooManyComparisonsError(total)
    return analyse(tables, settings, plan=plan)


class TooManyComparisonsError(ValueError):
    """More comparisons than a caller is ready to wait for; `total` says how many."""

    def __init__(self, total: int) -> None:
        super().__init__(f"{total} comparisons")
        self.total = total
