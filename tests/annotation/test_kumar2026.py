"""The public data of Kumar et al. 2026: read, and stored as a study."""

import csv
import re
import shutil
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Count
from django.test.utils import CaptureQueriesContext

from apps.annotation.kumar2026 import read_study
from apps.annotation.kumar2026_folder import KumarError
from apps.annotation.models import Evidence, Rating, RatingEvent
from apps.common.models import AuditEntry
from apps.corpus.models import Conversation, Dataset, Turn
from apps.frameworks.models import Framework
from apps.studies.models import Item, Membership, Rater, Study

pytestmark = pytest.mark.public_data

# block: items, raters, dimensions, ratings
SHAPES = {
    "empathetic-dialogues": (50, 7, 3, 50 * 7 * 3),
    "epitome": (50, 7, 3, 50 * 7 * 3),
    "perceived-empathy": (50, 8, 9, 50 * 7 * 9 + 50 * 6),
    "lend-an-ear": (50, 7, 6, 50 * 7 * 6),
    # 196 records of 6 scales, 14 cells empty.
    "lend-an-ear-crowd": (50, 116, 6, 196 * 6 - 14),
}


@pytest.fixture(scope="module")
def study(kumar_folder):
    return read_study(kumar_folder)


def raw(folder, name):
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- Reading ----------------------------------------------------------------------------------------------------------


def test_five_blocks_with_every_rater_of_every_item_on_every_dimension(study):
    found = {
        slug: (
            len(block.ids),
            len(block.raters),
            len({dimension for values in block.raters.values() for dimension in values}),
            sum(len(of_items) for values in block.raters.values() for of_items in values.values()),
        )
        for slug, block in study.blocks.items()
    }
    assert found == SHAPES
    assert list(study.blocks["lend-an-ear-crowd"].raters)[:2] == ["crowd001", "crowd002"]
    assert len(study.datasets) == 4


def test_ratings_are_joined_by_key_whatever_the_order_of_rows_and_columns(study, kumar_folder):
    for row in raw(kumar_folder, "annotations/lend_an_ear/crowd_ratings.csv"):
        for dimension, values in study.blocks["lend-an-ear"].raters["crowd"].items():
            assert values[row["conversation_id"]] == float(row[dimension])
    for row in raw(kumar_folder, "annotations/perceived_empathy/gpt_ratings.csv"):
        values = study.blocks["perceived-empathy"].raters["gpt"]
        assert values["cared_for"][row["id"]] == float(row["m_caredfor"])
    for row in raw(kumar_folder, "annotations/epitome/expert3_ratings.csv"):
        values = study.blocks["epitome"].raters["expert3"]
        assert values["explorations"][row["sp_id"]] == float(row["level_explorations"])


def test_ids_are_text_digit_for_digit(study):
    assert all(re.fullmatch(r"\d{20}", external_id) for external_id in study.blocks["lend-an-ear"].ids)


def test_self_reports_are_those_of_the_sample_on_six_scales(study, kumar_folder):
    block = study.blocks["perceived-empathy"]
    own = block.raters["self"]
    assert list(own) == ["understood", "validated", "affirmed", "seen", "accepted", "cared_for"]
    assert all(values.keys() == set(block.ids) for values in own.values())
    for row in raw(kumar_folder, "original_data/perceived_empathy_self_ratings.csv"):
        if row["id"] in block.ids:
            assert own["cared_for"][row["id"]] == float(row["caredfor"])
    assert study.notes == ("50 self-reports belong to conversations of the sample; 405 others are left out.",)


def test_turns_are_those_of_the_published_transcript(study, kumar_folder):
    """`full_conversation` is not read for this sample: it is the check."""
    published = {
        row["conv_id"]: re.findall(r"^\s*(Seeker|Supporter): (.*?)\s*$", row["full_conversation"], re.MULTILINE)
        for row in raw(kumar_folder, "original_data/sample_empatheticdialogues.csv")
    }
    for conversation in study.blocks["empathetic-dialogues"].dataset.conversations:
        said = [(turn.role.title(), (turn.raw_text or turn.text).strip()) for turn in conversation.turns]
        assert said == published[conversation.external_id]


def test_commas_are_cleaned_and_the_raw_text_is_kept(study, kumar_folder):
    turns = [
        turn
        for conversation in study.blocks["empathetic-dialogues"].dataset.conversations
        for turn in conversation.turns
    ]
    assert not any("_comma_" in turn.text for turn in turns)
    raw_turns = [turn for turn in turns if turn.raw_text is not None]
    rows = raw(kumar_folder, "original_data/sample_empatheticdialogues.csv")
    prompts = {row["conv_id"]: row["prompt"] for row in rows}.values()
    assert len(raw_turns) == sum("_comma_" in text for text in [*prompts, *(row["utterance"] for row in rows)])
    assert all(turn.raw_text.replace("_comma_", ",") == turn.text for turn in raw_turns)


def test_conversations_that_were_not_published_have_a_length_and_no_turns(study, kumar_folder):
    lengths = {
        row["OriginalDiscloserID"]: int(row["response_length"])
        for row in raw(kumar_folder, "original_data/sample_perceived_empathy_annotations.csv")
    }
    for conversation in study.blocks["perceived-empathy"].dataset.conversations:
        assert conversation.turns == []
        assert conversation.metadata == {"response_length": lengths[conversation.external_id]}


def test_evidence_spans_of_epitome_are_parted_at_bars_and_belong_to_the_crowd(study):
    evidence = study.blocks["epitome"].evidence
    assert list(evidence) == ["crowd"]
    passages = [one for of_items in evidence["crowd"].values() for found in of_items.values() for one in found]
    assert len(passages) == 28 + 18 + 33
    assert not any("|" in passage for passage in passages)


@pytest.fixture
def folder(kumar_folder, tmp_path):
    """A copy that may be broken."""
    return shutil.copytree(kumar_folder, tmp_path / "kumar2026", copy_function=shutil.copyfile)


def edit(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


def test_a_file_that_is_missing_is_named(folder):
    (folder / "annotations/epitome/claude_ratings.csv").unlink()
    with pytest.raises(KumarError, match=r"annotations/epitome/claude_ratings\.csv cannot be read: No such file"):
        read_study(folder)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("expert1", lambda data: data.replace(b"sp_id", b"nr"), "the column sp_id is missing; found nr"),
        ("expert1", lambda data: data.replace(b"level_explorations", b"x"), "the column explorations is missing"),
        ("expert1", lambda data: data.replace(b"97keuy", b"odd"), "its conversations are not those of the sample"),
        ("expert1", lambda data: data.replace(b"97keuy", b"5ziak3"), "5ziak3 comes twice"),
        ("expert1", lambda data: data.replace(b"e48xfwa,0", b"e48xfwa,NA"), "expected a number .+, found 'NA'"),
        ("crowd", lambda data: data.replace(b"e48xfwa,2", b"e48xfwa,1"), "differs from the crowd's ratings"),
        ("gpt", lambda data: b"", "The file is empty"),
        ("gpt", lambda data: data + b"1,2\n", "row 52"),
    ],
)
def test_a_file_that_does_not_fit_is_named(folder, name, change, words):
    edit(folder, f"annotations/epitome/{name}_ratings.csv", change)
    with pytest.raises(KumarError, match=words):
        read_study(folder)


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        ("sample_empatheticdialogues", 2, "a turn of .+ comes twice"),
        ("sample_epitome", 1, "comes twice"),
        ("sample_perceived_empathy_annotations", 1, "comes twice"),
        ("sample_lend_an_ear_conversations", 1, "comes twice"),
        ("sample_lend_an_ear_annotations", 1, "rated .+ twice"),
    ],
)
def test_a_row_that_comes_twice_is_refused_even_if_it_says_the_same(folder, name, row, words):
    path = folder / f"original_data/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([*rows, rows[row]])
    with pytest.raises(KumarError, match=words):
        read_study(folder)


def test_a_second_self_report_on_a_conversation_is_refused(folder, study):
    external_id = study.blocks["perceived-empathy"].ids[0]
    edit(
        folder,
        "original_data/perceived_empathy_self_ratings.csv",
        lambda d: d + f"{external_id},1,1,1,1,1,1\n".encode(),
    )
    with pytest.raises(KumarError, match=f"{external_id} comes twice"):
        read_study(folder)


# --- Storing ----------------------------------------------------------------------------------------------------------


def run(folder, *options):
    call_command("import_kumar2026", str(folder), *options)


@pytest.mark.django_db
def test_the_study_has_its_blocks_raters_and_ratings(kumar_folder, rosa, capsys):
    run(kumar_folder, "--owner", rosa.email)
    study = Study.objects.get(slug="kumar-2026")
    assert (study.status, study.discussion_open, study.model_scores_sealed) == ("closed", True, False)
    assert study.memberships.get().user == rosa
    found = {
        block.slug: (
            block.items.count(),
            Rater.objects.filter(ratings__item__block=block).distinct().count(),
            Rating.objects.filter(item__block=block).values("dimension").distinct().count(),
            Rating.objects.filter(item__block=block).count(),
        )
        for block in study.blocks.all()
    }
    assert found == SHAPES
    kinds = dict(study.raters.order_by().values_list("kind").annotate(Count("pk")))
    assert kinds == {"expert": 3, "llm": 3, "crowd": 117, "self": 1}
    assert list(study.raters.filter(is_aggregate=True).values_list("name", flat=True)) == ["crowd"]
    frameworks = [block.frameworks.get().slug for block in study.blocks.all()]
    assert frameworks == [*list(SHAPES)[:4], "lend-an-ear"]
    assert Framework.objects.filter(blocks__study=study, frozen_at=None).count() == 0
    assert set(Dataset.objects.values_list("owner", flat=True)) == {rosa.pk}
    assert (Conversation.objects.count(), Turn.objects.count()) == (200, 262 + 100 + 680)
    assert "405 others are left out" in capsys.readouterr().out


@pytest.mark.django_db
def test_what_single_annotators_said_carries_its_time_and_evidence(kumar_folder):
    run(kumar_folder)
    first = raw(kumar_folder, "original_data/sample_lend_an_ear_annotations.csv")[0]
    ratings = Rating.objects.filter(
        rater__name="crowd001", item__conversation__external_id=first["conversation_id"]
    ).select_related("dimension")
    assert {rating.dimension.slug: rating.value for rating in ratings} == {
        rating.dimension.slug: float(first[rating.dimension.slug]) for rating in ratings
    }
    given = datetime.fromisoformat(first["time_created"]).replace(tzinfo=UTC)
    assert {rating.created_at for rating in ratings} == {given}
    quote = ratings.get(dimension__slug="validating_emotions").evidence.get()
    assert quote.quote == first["validating_emotions_example"]
    assert quote.turn.role == "supporter"


@pytest.mark.django_db
def test_every_place_holds_its_passage(kumar_folder):
    run(kumar_folder)
    placed = Evidence.objects.exclude(turn=None).select_related("turn")

    def letters(text):
        return re.sub(r"\W", "", text)

    assert all(letters(one.quote) == letters(one.turn.text[one.start : one.end]) for one in placed)
    of_epitome = Evidence.objects.filter(rating__item__block__slug="epitome")
    assert of_epitome.count() == 79
    assert set(of_epitome.values_list("turn__role", flat=True)) == {"supporter"}
    assert placed.count() > 950


@pytest.mark.django_db
def test_a_second_import_changes_nothing(kumar_folder):
    def everything():
        models = (Study, Item, Rater, Rating, RatingEvent, Evidence, Conversation, Turn, Framework, AuditEntry)
        return [list(model.objects.order_by("pk").values()) for model in models]

    run(kumar_folder)
    before = everything()
    run(kumar_folder)
    assert everything() == before


@pytest.mark.django_db
def test_an_owner_may_be_named_later(kumar_folder, rosa):
    run(kumar_folder)
    assert not Membership.objects.exists()
    run(kumar_folder, "--owner", rosa.email)
    assert Study.objects.readable_by(rosa).get().slug == "kumar-2026"


@pytest.mark.django_db
def test_queries_do_not_follow_the_number_of_ratings(kumar_folder):
    with CaptureQueriesContext(connection) as captured:
        run(kumar_folder)
    # SQLite takes some hundred rows with each insert; 8,812 ratings would show.
    assert len(captured) < 600


def test_wrong_input_is_one_line_and_stores_nothing(db, folder, tmp_path):
    with pytest.raises(CommandError, match=r"is not the public folder.+Nothing was imported"):
        run(tmp_path)
    with pytest.raises(CommandError, match="Nobody active has the e-mail address nobody@example"):
        run(folder, "--owner", "nobody@example.org")
    with pytest.raises(CommandError, match="a b is no slug"):
        run(folder, "--study", "a b")
    edit(folder, "annotations/lend_an_ear/gemini_ratings.csv", lambda data: data[:-3] + b",9\n")
    with pytest.raises(CommandError, match="Nothing was imported"):
        run(folder)
    assert not Study.objects.exists()
    assert not Dataset.objects.exists()


def test_a_value_off_the_scale_stores_nothing(db, folder):
    edit(folder, "annotations/epitome/expert1_ratings.csv", lambda data: data.replace(b"e48xfwa,0", b"e48xfwa,3"))
    with pytest.raises(CommandError, match=r"97keuy, epitome/emotional_reactions: 3 is not allowed; expected one of"):
        run(folder)
    assert not Study.objects.exists()
    assert not Conversation.objects.exists()


def test_something_else_under_the_studys_names_is_left_alone(db, folder, grief, letters):
    grief.blocks.update(slug="epitome")
    with pytest.raises(CommandError, match=r"grief has a block epitome of something else\. Nothing was imported"):
        run(folder, "--study", "grief")
    assert Conversation.objects.count() == 3


def test_the_glued_table_is_refused_by_import_ratings(kumar_folder, grief):
    glued = kumar_folder / "annotations/combined_annotations_across_methods_and_datasets.csv"
    with pytest.raises(CommandError, match=r"These headers come more than once: .+several tables side by side"):
        call_command("import_ratings", str(glued), "--study", "grief", "--block", "main", "--kind", "expert")
    assert not Rating.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("block", "folder_name", "rater", "options"),
    [
        ("empathetic-dialogues", "empatheticdialogues", "expert1", []),
        ("epitome", "epitome", "gpt", []),
        ("perceived-empathy", "perceived_empathy", "expert3", []),
        ("lend-an-ear", "lend_an_ear", "gemini", []),
        ("lend-an-ear", "lend_an_ear", "crowd", []),
    ],
)
def test_import_ratings_reads_the_public_files_as_they_are(kumar_folder, block, folder_name, rater, options, capsys):
    run(kumar_folder)
    file = kumar_folder / "annotations" / folder_name / f"{rater}_ratings.csv"
    call_command("import_ratings", str(file), "--study", "kumar-2026", "--block", block, "--rater", rater, *options)
    assert "0 ratings added, 0 changed" in capsys.readouterr().out
