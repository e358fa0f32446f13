"""What docs/importing-conversations.md says is what the code does."""

from pathlib import Path

from apps.corpus.management.commands.import_conversations import Command
from apps.corpus.parsing import limits
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.mapping import FIELDS, ROLES
from apps.corpus.parsing.reading import MAX_LENGTHS
from tests.corpus.readings import read

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "importing-conversations.md").read_text(encoding="utf-8")


def test_every_option_format_field_and_role_is_named():
    parser = Command().create_parser("manage.py", "import_conversations")
    own = {option for action in parser._actions for option in action.option_strings if option.startswith("--")}
    own -= {"--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
            "--force-color", "--skip-checks"}  # fmt: skip
    words = PAGE.replace("\\|", " ").replace("`", " ").replace("=", " ").replace(",", " ").replace(";", " ").split()
    assert own | set(Format) | set(FIELDS) | set(ROLES) <= set(words)


def test_every_bound_is_named():
    rows = dict(line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| "))
    assert rows["file"] == "1 GiB"
    assert limits.MAX_FILE_BYTES == limits.MAX_PARQUET_BYTES == 1024**3
    assert rows["workbook, unpacked"] == f"{limits.MAX_WORKBOOK_BYTES // limits.MEBIBYTE} MiB"
    assert rows["rows"] == f"{limits.MAX_ROWS:,}"
    assert rows["title"] == f"{MAX_LENGTHS['title']} characters"
    assert rows["language"] == f"{MAX_LENGTHS['language']} characters"
    assert f"{limits.MAX_OPEN_ROWS:,} rows" in PAGE


def test_the_example_can_be_imported():
    example = "\n".join(
        line.strip() for line in PAGE.splitlines() if line.startswith(("    conversation_id", "    c1,"))
    )
    assert read(example).texts == {"c1": ["I did not get the job.", "I am sorry. How do you feel?"]}
