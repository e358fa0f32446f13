"""Rules of the house that no other tool checks."""

import re
import subprocess
from pathlib import Path

from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
EMPTY_NAMES = {"utils.py", "helpers.py", "misc.py", "common.py", "base.py"}


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [Path(line) for line in listing.stdout.splitlines()]


def test_no_module_has_a_name_that_says_nothing():
    assert [path for path in tracked_files() if path.name in EMPTY_NAMES] == []


def test_every_app_has_its_folder_of_tests():
    apps = {path.name for path in (ROOT / "apps").iterdir() if (path / "__init__.py").exists()}
    tested = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("test_*.py"))}
    assert apps - tested == set()


def test_every_link_between_documents_leads_somewhere():
    pages = [ROOT / path for path in tracked_files() if path.suffix == ".md"]
    links = [(page, target) for page in pages for target in re.findall(r"\]\(([^)#:]+)", page.read_text())]
    assert links
    assert [(page.name, target) for page, target in links if not (page.parent / target).exists()] == []


def test_every_command_in_the_documents_exists():
    pages = [ROOT / path for path in tracked_files() if path.suffix == ".md"]
    named = {name for page in pages for name in re.findall(r"manage\.py ([a-z_0-9]+)", page.read_text())}
    assert {"import_conversations", "agreement", "prepare"} <= named
    assert named - get_commands().keys() == {"help"}  # Django answers that one itself
