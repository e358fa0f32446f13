"""What of these tests the suite on PostgreSQL runs again: what writes many rows, or at the same time."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ON_EVERY_DATABASE = (
    "engine/",
    "test_asking_again.py",
    "test_baselines.py",
    "test_bias_answers.py",
    "test_currency.py",
    "test_endpoints.py",
    "test_model_raters.py",
    "test_planning.py",
    "test_progress.py",
    "test_prompting.py",
    "test_runs_at_once.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest leaves out what is marked: pages, parsers, providers and commands answer alike on both."""
    for item in items:
        if item.path.is_relative_to(HERE) and not str(item.path.relative_to(HERE)).startswith(ON_EVERY_DATABASE):
            item.add_marker(pytest.mark.once)
