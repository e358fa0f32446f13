"""What a report is to be made of: which ratings, how often resampled, and what of it is shown in which files. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from apps.measures.pairs import Convention
from apps.reliability.agreement import DEFAULT_RESAMPLES
from apps.reliability.selection import DataSelection
from apps.reports.contents import Format, ReportOptions, Stars

MOST_RESAMPLES = 10_000
# Single figures come in the archive; on their own they would be dozens of files.
FULL_REPORT = (Format.HTML, Format.XLSX, Format.CSV, Format.JSON, Format.TEX, Format.TXT, Format.ZIP)


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """`selection` and `resamples` say which snapshot; `options` narrow and write what is in it.

    Raises ValueError in a sentence.
    """

    selection: DataSelection = field(default_factory=DataSelection)
    resamples: int = DEFAULT_RESAMPLES
    options: ReportOptions = field(default_factory=lambda: ReportOptions(formats=FULL_REPORT))

    def __post_init__(self) -> None:
        if not 0 <= self.resamples <= MOST_RESAMPLES:
            raise ValueError(
                f"{self.resamples} resamples were asked for; expected a number from 0 to {MOST_RESAMPLES}."
            )
        if not self.options.formats:
            raise ValueError("Choose at least one kind of file.")

    @classmethod
    def of_choices(cls, given: Mapping[str, Any], metadata: Mapping[str, Iterable[str]]) -> Self:
        """The plan that a form or a request asks for, its values checked one by one already."""
        options = ReportOptions(
            convention=Convention(given["convention"]),
            parts=tuple(given["parts"]),
            block=given["block"],
            framework=given["framework"],
            groups=tuple(given["groups"]),
            raters=tuple(given["raters"]),
            stars=Stars(given["stars"]),
            threshold=given["threshold"],
            formats=tuple(given["formats"]),
            all_figures=given["all_figures"],
        )
        selection = DataSelection.of(metadata, with_excluded=given["with_excluded"])
        return cls(selection, given["resamples"], options)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            DataSelection.from_dict(stored["selection"]),
            stored["resamples"],
            ReportOptions.from_dict(stored["options"]),
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "selection": self.selection.as_dict(),
            "resamples": self.resamples,
            "options": self.options.as_dict(),
        }
