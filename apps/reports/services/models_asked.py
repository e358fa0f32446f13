"""The models of a study in its report: read when the report is made, since no snapshot has them."""

from dataclasses import replace

from apps.llm.services.model_accounts import accounts_of, checked_runs
from apps.reports.contents import ReportContent
from apps.studies.models import Study


def with_models(content: ReportContent, study: Study) -> ReportContent:
    """The content with what the study's models were asked with, and their latest checks for bias. Five queries."""
    return replace(content, models=tuple(accounts_of(study)), checks=tuple(checked_runs(study)))
