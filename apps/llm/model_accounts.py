"""What a model rater is and what the checks of its runs found, as reports name them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from apps.llm.bias_figures import Figure


@dataclass(frozen=True, slots=True)
class AccountedRun:
    """A run that asked the rater for ratings. Times are None where it has not come so far."""

    number: int
    state: str
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class ModelAccount:
    """All that makes a rater the rater it is. base_url: empty for the provider's own. asks_for: one `scale` or one
    `framework` a call. parameters: those that are sent. content_hash: of the prompt version with all of this.
    examples: conversations that its prompt shows with the experts' medians, each as its places in the study, which are
    (block, name).
    """

    rater: str
    provider: str
    base_url: str
    model: str
    response_format: str
    parameters: Mapping[str, Any]
    samples: int
    prompt: str
    prompt_version: int
    asks_for: str
    cannot_tell: bool
    content_hash: str
    runs: tuple[AccountedRun, ...] = ()
    examples: tuple[tuple[tuple[str, str], ...], ...] = ()


@dataclass(frozen=True)
class CheckedRun:
    """The latest checks for bias of a run. scales: (framework, dimension) -> their names in words."""

    run: int
    rater: str
    computed_at: datetime
    seed: int
    resamples: int
    n_items: int
    figures: tuple[Figure, ...]
    scales: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
