"""The command: counts and problems by row; on bad input one clear line, exit 1, and nothing written."""

import contextlib
import json
import os
import threading

import pytest
from django.core.management import CommandError, call_command

from apps.corpus.models import Conversation, Dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.csv").write_text("id;post;reply;site\n001;a;b;x\n002;c;d;x\n")
    (tmp_path / "bad.csv").write_text("id,post,reply\n003,a,b\n004,,b\n")
    (tmp_path / "latin.csv").write_bytes(b"id,post,reply\n1,caf\xe9,b\n")
    return tmp_path


def run(capsys, *arguments, **options) -> list[str]:
    call_command("import_conversations", *map(str, arguments), **{"dataset": "talks"} | options)
    return capsys.readouterr().out.splitlines()


def test_a_file_is_imported_and_the_mapping_and_counts_are_printed(folder, capsys):
    lines = run(capsys, folder / "good.csv", name="Talks", licence="CC0", source="Written for the test")
    assert lines == [
        "good.csv: csv, read as id=id post=post reply=reply",
        "good.csv: other columns, kept as metadata (--drop-unmapped leaves them out): site",
        "talks: 2 conversations with 4 turns added, 0 skipped as already there, 0 problems, 0 conflicts, 0 warnings.",
    ]
    dataset = Dataset.objects.get()
    assert (dataset.slug, dataset.name, dataset.licence, dataset.owner) == ("talks", "Talks", "CC0", None)
    assert list(dataset.conversations.values_list("external_id", flat=True)) == ["001", "002"]
    assert Conversation.objects.first().metadata == {"site": "x"}


def test_problems_are_printed_by_row_and_nothing_is_written(folder, capsys):
    with pytest.raises(CommandError, match=r"^Nothing was imported: 1 problem\. Mend the file, or .*--skip-problem"):
        run(capsys, folder / "good.csv", folder / "bad.csv")
    assert "  bad.csv, row 3, post: is empty; expected text" in capsys.readouterr().out.splitlines()
    assert not Dataset.objects.exists()


def test_conflicts_are_printed_with_a_hint(folder, capsys):
    run(capsys, folder / "good.csv")
    with pytest.raises(CommandError, match=r"2 conflicts.*--drop-unmapped leaves them out"):
        run(capsys, folder / "good.csv", drop_unmapped=True)


def test_problem_rows_can_be_skipped(folder, capsys):
    lines = run(capsys, folder / "bad.csv", skip_problem_rows=True)
    assert lines[-3:] == [
        "Problems (1):",
        "  row 3, post: is empty; expected text",
        "talks: 1 conversations with 2 turns added, 0 skipped as already there, 1 problems, 0 conflicts, 0 warnings.",
    ]


def test_a_dry_run_stores_nothing(folder, capsys):
    lines = run(capsys, folder / "good.csv", dry_run=True)
    assert "2 conversations with 4 turns would be added" in lines[-1]
    assert lines[-1].endswith("Nothing was stored (dry run).")
    assert not Dataset.objects.exists()


def test_case_1_the_encoding_is_offered_and_can_be_chosen(folder, capsys):
    with pytest.raises(CommandError, match=r"offset 19 \(line 2\).*--encoding cp1252.*Nothing was imported"):
        run(capsys, folder / "latin.csv")
    run(capsys, folder / "latin.csv", encoding="cp1252")
    assert Conversation.objects.get().turns.first().text == "café"


def test_columns_constants_and_speakers_are_mapped(tmp_path, capsys):
    file = tmp_path / "talks.jsonl"
    file.write_text(json.dumps({"n": 5, "talk": "Anna: hi\nBen: yes", "m": "gpt"}))
    run(
        capsys,
        file,
        maps=["id=n", "transcript=talk", "factor.model=m", "speaker.Anna=seeker"],
        constants=["language=en", "speaker.Ben=supporter"],
        drop_unmapped=True,
    )
    conversation = Conversation.objects.get()
    assert (conversation.external_id, conversation.language, conversation.factors) == ("5", "en", {"model": "gpt"})
    assert list(conversation.turns.values_list("role", flat=True)) == ["seeker", "supporter"]


def test_the_options_are_those_of_the_contract(folder):
    """Given as a shell gives them."""
    call_command(
        "import_conversations", str(folder / "good.csv"), "--dataset", "talks", "--format", "csv", "--map", "id=id",
        "--map", "post=post", "--map", "reply=reply", "--set", "language=en", "--drop-unmapped",
        "--skip-problem-rows", "--dry-run", "--encoding", "utf-8", "--name", "Talks",
    )  # fmt: skip
    assert not Dataset.objects.exists()


def test_a_new_dataset_may_belong_to_somebody(folder, capsys, rosa):
    run(capsys, folder / "good.csv", owner="Rosa@example.org")
    assert Dataset.objects.get().owner == rosa


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maps": ["colour=a"]}, "colour is not a field"),
        ({"maps": ["post=said"]}, r"no column said \(for post\)\. Its headers are: id, post, reply, site"),
        ({"dataset": "Not a slug!"}, "The dataset Not a slug! cannot be made. slug:"),
        ({"owner": "nobody@example.org"}, "Nobody active has the e-mail address"),
        ({"encoding": "klingon"}, "klingon is not an encoding"),
    ],
)
def test_bad_options_are_one_clear_line(folder, capsys, options, message):
    with pytest.raises(CommandError, match=message) as refusal:
        run(capsys, folder / "good.csv", **options)
    assert "\n" not in str(refusal.value)
    assert not Dataset.objects.exists()


def test_a_file_that_is_not_there_is_one_clear_line(folder, capsys):
    with pytest.raises(CommandError, match=r"missing\.csv cannot be opened: No such file"):
        run(capsys, folder / "good.csv", folder / "missing.csv")
    assert not Dataset.objects.exists()


def test_long_lists_of_problems_end_with_their_number(tmp_path, capsys):
    file = tmp_path / "bad.csv"
    file.write_text("id,post,reply\n" + "".join(f"{number},,b\n" for number in range(505)))
    with pytest.raises(CommandError, match="505 problems"):
        run(capsys, file)
    assert capsys.readouterr().out.splitlines()[-1] == "  and 5 more"


def test_one_map_may_hold_several_pairs_and_the_file_may_follow(folder, capsys):
    (folder / "odd.csv").write_text("n,p,r\n1,a,b\n")
    pairs = ["--map", "id=n", "post=p", "reply=r", "--set", "language=en", "factor.arm=1"]
    run(capsys, folder / "odd.csv", *pairs)
    assert Conversation.objects.get().language == "en"
    assert run(capsys, *pairs, folder / "odd.csv", folder / "odd.csv")[-1].startswith("talks: 0 conversations")
    with pytest.raises(CommandError, match="Which file"):
        run(capsys, *pairs)
    with pytest.raises(CommandError, match="post is not of the form field=column"):
        run(capsys, folder / "odd.csv", "--map", "post")


def test_a_format_that_is_not_known_is_one_clear_line(folder, capsys):
    with pytest.raises(CommandError, match=r"^doc is not a format known here; expected one of csv, tsv, .+parquet"):
        run(capsys, folder / "good.csv", "--format", "doc")


def test_a_pipe_is_refused_in_words(folder, capsys):
    os.mkfifo(folder / "pipe")

    def write() -> None:
        with contextlib.suppress(BrokenPipeError):  # refused before it was read
            (folder / "pipe").write_text("id,post,reply\n1,a,b\n")

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(CommandError, match="a stream that can be read once only; save it first"):
        run(capsys, folder / "pipe")
    writer.join()


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("id,post".encode("utf-16-le"), [], r"probably utf-16-le\. Try --encoding utf-16-le\. Nothing"),
        (
            "id,post\n".encode("utf-16")[:-1],
            [],
            r"byte order mark of that.+damaged or cut off\. Nothing",
        ),
        (b"id,post,reply\n1,a\x81,b\n", ["--encoding", "cp1252"], r"CP1252\. .*choose another encoding\. Nothing"),
    ],
)
def test_the_encoding_that_is_offered_is_one_that_may_help_case_1(folder, capsys, data, options, words):
    (folder / "odd.csv").write_bytes(data)
    with pytest.raises(CommandError, match=words):
        run(capsys, folder / "odd.csv", *options)
