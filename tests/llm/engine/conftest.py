"""The engine with a provider of the tests, injected where it is looked up."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.llm.engine.stubs import StubProvider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> StubProvider:
    """Answers every request of the test; its `replies` may be changed."""
    stub = StubProvider()
    monkeypatch.setattr("apps.llm.services.claiming.provider_for", lambda target: stub)
    return stub


@pytest.fixture
def fixed_lot(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Any]:
    """`fixed_lot(0.5)`: what is drawn by lot is always that."""

    def fix(number: float) -> None:
        monkeypatch.setattr("apps.llm.services.storing.random.random", lambda: number)

    return fix
