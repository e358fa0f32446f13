"""The frameworks that come with Accord, as reviewable files, and an example of such a file."""

from pathlib import Path

from apps.frameworks.framework_file import read_framework
from apps.frameworks.scales import FrameworkSpec

CATALOG = Path(__file__).resolve().parent.parent / "catalog"
EXAMPLE = CATALOG.parent / "example.yaml"


def builtin_frameworks() -> list[FrameworkSpec]:
    """The built-in frameworks, in the order of their slugs. Raises FrameworkProblems if a file is wrong."""
    return [read_framework(path.read_bytes()) for path in sorted(CATALOG.glob("*.yaml"))]


def example_framework() -> str:
    """A small framework as YAML, with every field and what it is for: a place to start from."""
    return EXAMPLE.read_text(encoding="utf-8")
