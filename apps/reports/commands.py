"""The command line that makes a report again, from what was chosen. Pure."""

import shlex
from collections.abc import Sequence

from apps.measures.scale import Level, Scale
from apps.reliability.agreement import Settings
from apps.reliability.selection import DataSelection
from apps.reports.contents import Comparisons, ReportOptions, Stars


def study_command(
    slug: str, settings: Settings, options: ReportOptions, selection: DataSelection, comparisons: Comparisons
) -> str:
    """The command that writes the same report, as long as the study's ratings are the same."""
    words = ["python", "manage.py", "agreement", "--study", slug, *_settings_words(settings, options)]
    words += [f"--{name.replace('_', '-')}" for name in comparisons.options]
    words += ["--with-excluded"] if selection.with_excluded else []
    for name, values in selection.metadata:
        words += [word for value in values for word in ("--where", f"{name}={value}")]
    return shlex.join(words)


def _settings_words(settings: Settings, options: ReportOptions) -> list[str]:
    """The options of the command `agreement` that both a study and a file of ratings have."""
    words = ["--convention", settings.convention.value, "--bootstrap", str(settings.resamples)]
    words += ["--seed", str(settings.seed)]
    usual = ReportOptions()
    if options.parts != usual.parts:
        words += ["--parts", ",".join(options.parts)]
    if options.statistics:
        words += ["--statistics", ",".join(options.statistics)]
    words += ["--block", options.block] if options.block else []
    words += ["--framework", options.framework] if options.framework else []
    for option, chosen in (("--group", options.groups), ("--rater", options.raters)):
        words += [word for one in chosen for word in (option, one)]
    words += ["--stars", str(options.stars)] if options.stars is not Stars.ADJUSTED else []
    words += ["--threshold", f"{options.threshold:g}"] if options.threshold != usual.threshold else []
    words += ["--all-figures"] if options.all_figures else []
    return [*words, "--formats", ",".join(options.formats), "--out", "report/"]


def file_command(
    name: str, points: str, scale: Scale, aggregates: Sequence[str], settings: Settings, options: ReportOptions
) -> str:
    """The same for a file of ratings, its points as they were given."""
    words = ["python", "manage.py", "agreement", "--ratings", name, "--points", points]
    words += ["--level", Level.NOMINAL.value] if scale.is_nominal else []
    words += ["--aggregate", *aggregates] if aggregates else []
    return shlex.join([*words, *_settings_words(settings, options)])
