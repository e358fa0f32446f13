"""No file overwrites what a model said here, or a baseline computed; imported models take files as ever."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from apps.annotation.models import Rating, RatingEvent
from apps.annotation.parsing.reading import Told
from apps.annotation.services import importing
from apps.annotation.services.importing import RatingsFile, import_ratings
from apps.annotation.services.recording import Origin, RatingEntry, record_rating, record_ratings
from apps.annotation.services.uploads import receive_upload
from apps.llm.models import Baseline
from apps.studies.models import Item, Rater
from apps.studies.services.raters import RaterConflict
from tests.llm.worlds import answer_all, make_run
from tests.walking import dump

COMPUTED = "is a rater that Accord computes itself"
UPLOAD = "/studies/grief/ratings/upload/"
OF_BOTH = "item,rater,dimension,value\nletters-001,expert2,scale_1,4\nletters-002,{name},scale_1,5\n"
OF_ONE = "item,scale_1,scale_2\nletters-001,5,5\n"


@pytest.fixture(params=["model1", "constant"])
def name(request, grief) -> str:
    """A rater whose ratings are all 3: a model that a run asked, or a baseline."""
    if request.param == "model1":
        answer_all(make_run(grief), 3.0)
        return "model1"
    rater = Rater.objects.create(study=grief, name="constant", kind="baseline")
    Baseline.objects.create(study=grief, rater=rater, rule="constant")
    record_ratings(entries=entries_of(grief, rater, 3.0), origin=Origin.MODEL)
    return "constant"


@pytest.fixture
def importing_command(grief, tmp_path, capsys):
    def run(text: str, *options: str) -> str:
        file = tmp_path / "ratings.csv"
        file.write_text(text)
        call_command("import_ratings", str(file), "--study", "grief", "--block", "main", *options)
        return capsys.readouterr().out

    return run


def entries_of(study, rater, value) -> list[RatingEntry]:
    dimension = study.blocks.get().frameworks.get().dimensions.first()
    return [RatingEntry(item.pk, rater.pk, dimension.pk, value) for item in Item.objects.filter(block__study=study)]


def values_of(name: str) -> set[float | None]:
    return set(Rating.objects.filter(rater__name=name).values_list("value", flat=True))


def test_the_command_names_row_and_rater_and_stores_nothing(importing_command, name, capsys):
    before = dump()
    with pytest.raises(CommandError, match="Nothing was imported: 1 problem"):
        importing_command(OF_BOTH.format(name=name))
    assert f"row 3, rater: {name} {COMPUTED}; expected the name of another rater" in capsys.readouterr().out
    assert dump() == before


def test_the_other_rows_can_be_stored(importing_command, name):
    out = importing_command(OF_BOTH.format(name=name), "--skip-problem-rows")
    assert "1 ratings added" in out
    assert values_of("expert2") == {4}
    assert values_of(name) == {3}


def test_a_file_of_that_rater_is_refused_in_one_sentence(importing_command, name):
    before = dump()
    with pytest.raises(CommandError, match=rf"^{name} {COMPUTED}; expected the name of another rater\. Nothing was"):
        importing_command(OF_ONE, "--rater", name)
    assert dump() == before


def test_the_form_of_uploads_says_so_at_its_field(sign_in, rosa, name):
    file = SimpleUploadedFile("ratings.csv", OF_ONE.encode())
    answer = sign_in(rosa).post(UPLOAD, {"file": file, "block": "main", "rater": name})
    assert answer.status_code == 422
    [fault] = answer.context["form"].errors["rater"]
    assert fault == f"{name} {COMPUTED}: its ratings are not taken from a file."


def test_the_check_page_lists_the_row_and_the_import_stores_nothing(
    sign_in, rosa, name, django_capture_on_commit_callbacks
):
    client = sign_in(rosa)
    file = SimpleUploadedFile("ratings.csv", OF_BOTH.format(name=name).encode())
    checked = client.post(UPLOAD, {"file": file, "block": "main"}).url
    assert f"{name} {COMPUTED}; expected the name of another rater" in client.get(checked).text
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"{checked}start/")
    assert values_of(name) == {3}
    assert values_of("expert2") == set()


def test_an_upload_told_before_the_rater_was_computed_is_refused_on_its_page(sign_in, rosa, grief):
    Rater.objects.create(study=grief, name="later", kind="llm")
    file = SimpleUploadedFile("ratings.csv", OF_ONE.encode())
    upload = receive_upload(upload=file, owner=rosa, block=grief.blocks.get(), told=Told(rater="later"))
    make_run(grief)
    model = grief.raters.get(name="model1")
    Rater.objects.filter(name="later").update(name="earlier")
    Rater.objects.filter(pk=model.pk).update(name="later")
    assert f"later {COMPUTED}" in sign_in(rosa).get(f"{UPLOAD}{upload.pk}/").text


def test_one_that_becomes_computed_while_the_file_is_read_is_refused_too(grief, name, tmp_path, monkeypatch):
    """The check of rows knows what was there when it began; the door asks again."""
    monkeypatch.setattr(importing.Target, "of", classmethod(_unknowing(importing.Target.of)))
    path = tmp_path / "ratings.csv"
    path.write_text(OF_BOTH.format(name=name))
    before = dump()
    with path.open("rb") as file, pytest.raises(RaterConflict, match=COMPUTED):
        import_ratings(block=grief.blocks.get(), source=RatingsFile("ratings.csv", file), told=Told())
    assert dump() == before


def _unknowing(of):
    def target(cls, block, *, on_screen=False):
        found = of(block, on_screen=on_screen)
        expected = importing.Expected(**{**vars_of(found.expected), "computed": frozenset()})
        return cls(found.block, found.items, found.dimensions, expected)

    return target


def vars_of(expected) -> dict:
    return {name: getattr(expected, name) for name in expected.__dataclass_fields__}


def test_the_door_itself_takes_no_import_of_theirs(grief, name):
    rater = grief.raters.get(name=name)
    [first, *_] = entries = entries_of(grief, rater, 5.0)
    with pytest.raises(RaterConflict, match=COMPUTED):
        record_ratings(entries=entries, origin=Origin.IMPORT)
    dimension = grief.blocks.get().frameworks.get().dimensions.first()
    item = Item.objects.get(pk=first.item_id)
    with pytest.raises(RaterConflict, match=COMPUTED):
        record_rating(item=item, rater=rater, dimension=dimension, value=5.0, origin=Origin.IMPORT)
    assert values_of(name) == {3}
    assert not RatingEvent.objects.filter(origin=Origin.IMPORT).exists()
    record_ratings(entries=entries, origin=Origin.MODEL)
    assert 5 in values_of(name)


def test_imported_models_and_baselines_take_files_as_ever(importing_command, grief):
    for published, kind in (("gpt-published", "llm"), ("majority", "baseline")):
        importing_command(OF_ONE, "--rater", published, "--kind", kind)
        out = importing_command(OF_ONE.replace("5,5", "4,5"), "--rater", published)
        assert "1 changed" in out
        assert values_of(published) == {4, 5}
    assert not grief.raters.computed_here().exists()
