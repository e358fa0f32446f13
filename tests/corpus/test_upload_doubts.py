"""What the check page asks, warns of and offers before an import: roles, guesses, single turns, another file."""

import pytest
from django.core.files.storage import default_storage
from django.urls import reverse

from apps.common.models import Job, JobState, StoredFile
from apps.corpus.models import ConversationUpload, Turn
from apps.corpus.parsing.doubts import NO_SUPPORTER, SINGLE_TURNS
from tests.corpus.uploading import UPLOAD, as_file, hand_in, means, run_import, shown, stored, url

pytestmark = pytest.mark.django_db

CHAT = "conversation_id,who,text\na,Ann,I lost my job.\na,Bea,That is hard.\nb,Ann,I moved.\nb,Bea,Do you miss it?\n"
POSTS = "id,post,reply\n1,I lost my job.,That is hard.\n2,I moved away.,Do you miss it?\n"


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


# --- Who speaks ---------------------------------------------------------------------------------------------------


def test_speakers_without_a_role_are_asked_about_before_anything_is_imported(client):
    upload = hand_in(client, CHAT)
    answer = client.post(url("upload-import", upload), shown(client, upload))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert page.index("2 speakers have no role yet: who is the supporter?") < page.index('id="who-speaks"')
    assert not Job.objects.exists()
    job = run_import(client, upload, shown(client, upload, role_0="seeker", role_1="supporter"))
    assert job.state == JobState.DONE
    assert set(Turn.objects.values_list("speaker", "role")) == {("Ann", "seeker"), ("Bea", "supporter")}
    assert job.result["warnings"] == 0


def test_one_speaker_left_is_asked_about_too(client):
    upload = hand_in(client, CHAT)
    answer = client.post(url("upload-import", upload), shown(client, upload, role_0="seeker"))
    assert "1 speaker has no role yet: who is the supporter?" in answer.content.decode()


def test_other_is_a_choice_of_its_own(client):
    upload = hand_in(client, CHAT)
    job = run_import(client, upload, shown(client, upload, role_0="other", role_1="other"))
    assert job.state == JobState.DONE
    assert set(Turn.objects.values_list("role", flat=True)) == {"other"}
    assert NO_SUPPORTER in job.result["worth knowing"]


def test_one_tick_says_that_all_others_are_other(client):
    upload = hand_in(client, CHAT)
    assert 'name="others_are_other"' in client.get(url("upload-check", upload)).content.decode()
    job = run_import(client, upload, shown(client, upload, others_are_other="on"))
    assert job.state == JobState.DONE
    assert set(Turn.objects.values_list("role", flat=True)) == {"other"}


def test_nobody_is_asked_where_every_role_is_known(client):
    upload = hand_in(client, POSTS)
    page = client.get(url("upload-check", upload)).content.decode()
    assert "no role yet" not in page
    assert 'name="others_are_other"' not in page
    assert NO_SUPPORTER not in page


def test_a_file_without_a_supporter_is_warned_of_once_roles_are_chosen(client):
    upload = hand_in(client, CHAT)
    warning = NO_SUPPORTER.replace("'", "&#x27;")
    assert warning not in client.get(url("upload-check", upload)).content.decode()
    client.post(url("upload-check", upload), shown(client, upload, role_0="seeker", role_1="other"))
    assert warning in client.get(url("upload-check", upload)).content.decode()


# --- What the columns mean ----------------------------------------------------------------------------------------


def test_the_page_says_what_was_guessed_and_what_was_chosen(client):
    upload = hand_in(client, CHAT)
    assert "Guessed from their names and values." in client.get(url("upload-check", upload)).content.decode()
    client.post(url("upload-check", upload), shown(client, upload))
    page = client.get(url("upload-check", upload)).content.decode()
    assert "As they were chosen last." in page
    assert "Guessed from" not in page


def test_what_the_values_alone_have_told_is_said_until_somebody_chooses(client):
    upload = hand_in(client, 'nr,words,score\nt1,"Ann: a\nBen: b",3\nt2,"Ann: c\nBen: d",4\n')
    page = client.get(url("upload-check", upload)).content.decode()
    assert "“Conversation id” and “Whole transcript” only from the values, since the names say nothing" in page
    assert page.count("Looks like ratings:") == 1
    sent = means(client, upload, nr="")
    partial = client.post(url("upload-check", upload), sent, headers={"HX-Request": "true"}).content.decode()
    said = partial.partition('hx-swap-oob="innerHTML:#columns-said"')[2].partition("</div>")[0]
    assert "As they were chosen last." in said
    assert "only from the values" not in said
    partial = client.post(
        url("upload-check", upload), means(client, upload, words="unused"), headers={"HX-Request": "true"}
    ).content.decode()
    said = partial.partition('hx-swap-oob="innerHTML:#columns-said"')[2].partition("</div>")[0]
    assert "Choose what the columns mean." in said
    assert "Nothing could be guessed" not in said


def test_what_an_import_lacks_stands_beside_its_button(client):
    upload = hand_in(client, CHAT)
    end = client.get(url("upload-check", upload)).content.decode().rpartition('id="import-lacks"')[2]
    assert "no role yet." in end
    assert 'href="#who-speaks"' in end
    client.post(url("upload-check", upload), shown(client, upload, role_0="seeker", role_1="supporter"))
    assert "import-lacks" not in client.get(url("upload-check", upload)).content.decode()


def test_where_nothing_is_guessed_the_menu_s_own_words_say_what_is_needed(client):
    upload = hand_in(client, "aa,bb\n1,x\n2,y\n")
    page = client.get(url("upload-check", upload)).content.decode()
    assert "Nothing could be guessed: choose what the columns mean." in page
    assert "Guessed from" not in page
    assert "No column means the text yet. Choose “Conversation id”, and either “Speaker” and “Text of the turn”" in page
    for internal in ("turn_index", "post | reply", "post reply"):
        assert internal not in page.partition("<main")[2].replace('value="turn_index"', "")


@pytest.mark.parametrize(
    ("meanings", "sentence"),
    [
        ({"aa": "id", "bb": "text"}, "No column means “Speaker” yet: choose it in the table of columns. A number of"),
        ({"aa": "post", "bb": "reply"}, "No column means “Conversation id” yet"),
        ({"aa": "transcript", "bb": "reply"}, "do not go together. Choose either “Speaker” and “Text of the turn”"),
    ],
)
def test_a_mapping_that_does_not_do_is_told_in_the_words_of_the_menu(client, meanings, sentence):
    upload = hand_in(client, "aa,bb\n1,x\n2,y\n")
    piece = client.post(
        url("upload-check", upload), means(client, upload, **meanings), headers={"HX-Request": "true"}
    ).content.decode()
    assert sentence in piece
    assert "up to date" not in piece


def test_a_mapping_in_two_minds_is_not_called_up_to_date(client):
    upload = hand_in(client, POSTS)
    piece = client.post(
        url("upload-check", upload), means(client, upload, id="post"), headers={"HX-Request": "true"}
    ).content.decode()
    assert "the preview is that of the one before" in piece
    assert "up to date" not in piece


def test_problems_name_the_field_as_the_menu_does(client):
    upload = hand_in(client, "id,turn_index,speaker,text\na,x,user,Hi\n")
    page = client.get(url("upload-check", upload)).content.decode()
    assert '<td data-label="Field">Number of the turn</td>' in page
    job = run_import(client, upload)
    assert job.problems == ["row 2, Number of the turn: expected a whole number, found 'x'"]


def test_one_turn_in_each_conversation_is_worth_a_question(client):
    rows = "".join(f"r{number},{'user' if number % 2 else 'bot'},text {number}\n" for number in range(12))
    upload = hand_in(client, f"id,speaker,text\n{rows}")
    assert SINGLE_TURNS in client.get(url("upload-check", upload)).content.decode()


def test_long_names_of_columns_break_after_an_underscore(client):
    upload = hand_in(client, CHAT)
    assert "<bdi>conversation_<wbr>id</bdi>" in client.get(url("upload-check", upload)).content.decode()


# --- What the preview shows ---------------------------------------------------------------------------------------


def test_a_preview_of_some_says_of_how_many(client):
    rows = "".join(f"{number},a,b\n" for number in range(6))
    upload = hand_in(client, f"id,post,reply\n{rows}")
    assert "The first 5 of 6." in client.get(url("upload-check", upload)).content.decode()
    few = hand_in(client, POSTS, slug="few")
    assert "The first" not in client.get(url("upload-check", few)).content.decode().partition("As raters")[2]
    rows = "".join(f"{number},a,b\n" for number in range(300))
    many = hand_in(client, f"id,post,reply\n{rows}", slug="many")
    assert "The first 5. Only the first 200 rows" in client.get(url("upload-check", many)).content.decode()


def test_a_row_that_cannot_be_read_counts_and_is_listed_before_anything_is_chosen(client):
    upload = hand_in(client, "aa,bb\n1,x\n2,y,z\n3,w\n")
    page = client.get(url("upload-check", upload)).content.decode()
    assert "· 3 rows" in page
    assert "has 3 cells where the header has 2" in page


# --- Another file in its place ------------------------------------------------------------------------------------


def test_a_bad_file_is_replaced_and_the_dataset_and_mapping_stay(client, django_capture_on_commit_callbacks):
    upload = hand_in(client, CHAT.replace("I lost my job.", ""), name="bad.csv", description="From a diary")
    client.post(url("upload-check", upload), shown(client, upload, role_0="seeker", role_1="supporter"))
    before = StoredFile.objects.get()
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(url("upload-replace", upload), {"file": as_file(CHAT, "good.csv")})
    assert answer["Location"] == url("upload-check", upload)
    assert not default_storage.exists(str(before.file.name))
    assert StoredFile.objects.count() == 1
    upload.refresh_from_db()
    assert (upload.file_name, upload.dataset_slug, upload.dataset_about["description"]) == (
        "good.csv",
        "bad",
        "From a diary",
    )
    assert upload.mapping["roles"] == {"Ann": "seeker", "Bea": "supporter"}
    run_import(client, upload)
    assert stored() == {"a": ["I lost my job.", "That is hard."], "b": ["I moved.", "Do you miss it?"]}


def test_columns_that_the_new_file_has_not_are_guessed_anew(client):
    upload = hand_in(client, CHAT)
    client.post(url("upload-check", upload), shown(client, upload, role_0="seeker", role_1="supporter"))
    client.post(url("upload-replace", upload), {"file": as_file(CHAT.replace("who", "speaker"))})
    look = client.get(url("upload-check", upload)).context["preview"]
    assert look.mapping.mapped() == {"id": "conversation_id", "speaker": "speaker", "text": "text"}
    assert look.mapping.roles == {"Ann": "seeker", "Bea": "supporter"}


def test_a_file_of_another_format_takes_the_place(client):
    upload = hand_in(client, POSTS)
    client.post(url("upload-reading", upload), {"format": "csv", "encoding": ""})
    line = '{"id": "1", "post": "x", "reply": "y"}\n' * 2
    client.post(url("upload-replace", upload), {"file": as_file(line, "posts.jsonl")})
    look = client.get(url("upload-check", upload)).context["preview"]
    assert (look.format, look.fault) == ("jsonl", "")


def test_a_file_that_can_never_be_read_does_not_take_the_place(client):
    upload = hand_in(client, POSTS)
    answer = client.post(url("upload-replace", upload), {"file": as_file("a,a\n1,2\n", "worse.csv")})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "1 thing to mend" in page
    assert 'href="#id_new_file"' in page
    upload.refresh_from_db()
    assert upload.file_name == "talks.csv"
    assert client.post(url("upload-replace", upload)).status_code == 422
    assert client.get(url("upload-replace", upload)).status_code == 405


def test_a_file_whose_import_has_begun_is_not_replaced(client):
    upload = hand_in(client, POSTS)
    client.post(url("upload-import", upload), shown(client, upload))
    answer = client.post(url("upload-replace", upload), {"file": as_file(CHAT, "late.csv")})
    assert answer["Location"] == url("upload-check", upload)
    upload.refresh_from_db()
    assert (upload.file_name, StoredFile.objects.count()) == ("talks.csv", 1)


def test_anothers_file_is_not_replaced(client, sign_in, otto, emil):
    upload = hand_in(client, POSTS)
    data = {"file": as_file(CHAT, "mine.csv")}
    assert sign_in(otto).post(url("upload-replace", upload), data).status_code == 404
    assert sign_in(emil).post(url("upload-replace", upload), data).status_code == 403
    answer = sign_in(None).post(url("upload-replace", upload), data)
    assert answer["Location"].startswith(reverse("accounts:sign-in"))
    assert ConversationUpload.objects.get().file_name == "talks.csv"


# --- Above a form that was sent back ------------------------------------------------------------------------------


def test_what_is_to_be_mended_stands_above_the_form_with_a_link_to_each_field(client):
    answer = client.post(UPLOAD, {"slug": "no good", "name": "x" * 201})
    page = answer.content.decode()
    assert answer.status_code == 422
    summary = page.partition("data-errors")[2].partition("</div>")[0]
    assert "3 things to mend" in summary
    for field in ("id_file", "id_slug", "id_name"):
        assert f'href="#{field}"' in summary
        assert f'id="{field}"' in page
    assert page.index("data-errors") < page.index('id="id_file"')


def test_a_form_that_is_shown_for_the_first_time_has_no_summary(client):
    assert "data-errors" not in client.get(UPLOAD).content.decode()
