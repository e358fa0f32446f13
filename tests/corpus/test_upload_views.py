"""Uploading conversations in the browser: who may, what the pages show, what they keep, what they cost."""

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.common.models import Job, JobState, StoredFile
from apps.corpus.models import ConversationUpload, Dataset, SavedMapping
from tests.conftest import make_dataset
from tests.corpus.uploading import UPLOAD, as_file, as_sent, hand_in, means, run_import, shown, stored, url

pytestmark = pytest.mark.django_db

POSTS = "id,post,reply\n1,I lost my job.,That is hard.\n2,I moved away.,Do you miss it?\n"
TURNS = "nr,who,body,mood\na,Ann,Hello,sad\na,Bea,Hi,sad\nb,Ann,Bye,glad\n"
UPLOADS = reverse("corpus:uploads")


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


@pytest.fixture
def talks(client) -> ConversationUpload:
    return hand_in(client, POSTS)


def pages_of(upload: ConversationUpload, dataset: Dataset) -> list[str]:
    into = reverse("corpus:dataset-upload", args=[dataset.slug])
    return [UPLOAD, UPLOADS, into, url("upload-check", upload)]


def acts_of(upload: ConversationUpload) -> list[str]:
    saved = SavedMapping.objects.get_or_create(owner=upload.owner, name="plain", defaults={"mapping": {}})[0]
    return [
        *(url(name, upload) for name in ("upload-reading", "upload-replace", "upload-import", "mapping-keep")),
        url("mapping-use", upload, saved.pk),
        url("mapping-delete", upload, saved.pk),
        url("upload-discard", upload),
    ]


# --- Who may ------------------------------------------------------------------------------------------------------


def test_nobody_signed_in_is_sent_to_the_sign_in_page(sign_in, talks, letters):
    nobody = sign_in(None)
    for address in pages_of(talks, letters):
        assert nobody.get(address)["Location"].startswith(reverse("accounts:sign-in"))
    for address in [UPLOAD, *acts_of(talks)]:
        assert nobody.post(address)["Location"].startswith(reverse("accounts:sign-in"))
    assert ConversationUpload.objects.count() == 1


def test_an_annotator_is_refused(sign_in, emil, talks, letters):
    annotator = sign_in(emil)
    assert {annotator.get(address).status_code for address in pages_of(talks, letters)} == {403}
    assert {annotator.post(address).status_code for address in acts_of(talks)} == {403}
    assert annotator.post(UPLOAD, {"file": as_file(POSTS)}).status_code == 403
    assert ConversationUpload.objects.count() == 1


def test_anothers_upload_is_not_found_and_not_listed(sign_in, otto, talks, letters):
    stranger = sign_in(otto)
    assert [stranger.get(address).status_code for address in pages_of(talks, letters)] == [200, 200, 404, 404]
    assert {stranger.post(address).status_code for address in [url("upload-check", talks), *acts_of(talks)]} == {404}
    assert "talks.csv" not in stranger.get(UPLOADS).content.decode()
    assert ConversationUpload.objects.get().mapping == {}
    assert SavedMapping.objects.count() == 1
    assert not Job.objects.exists()


def test_an_admin_opens_every_upload(sign_in, ada, talks, letters):
    admin = sign_in(ada)
    assert {admin.get(address).status_code for address in pages_of(talks, letters)} == {200}
    assert "Rosa" in admin.get(UPLOADS).content.decode()
    assert run_import(admin, talks).state == JobState.DONE
    assert Dataset.objects.get(slug="talks").owner == talks.owner


def test_a_researcher_may_not_add_to_the_datasets_of_the_site(client):
    make_dataset("public")
    assert client.get(reverse("corpus:dataset-upload", args=["public"])).status_code == 404
    page = client.post(UPLOAD, {"file": as_file(POSTS), "dataset": "public"})
    assert page.status_code == 422
    assert "There is no such dataset" in page.content.decode()


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_refused(client, talks, letters, method):
    for address in [*pages_of(talks, letters), *acts_of(talks)]:
        assert getattr(client, method)(address).status_code == 405
    assert {client.get(address).status_code for address in acts_of(talks)} == {405}
    assert client.post(UPLOADS).status_code == 405


# --- Handing in a file --------------------------------------------------------------------------------------------


def test_a_file_waits_to_be_checked_with_everything_said_about_it(client, rosa):
    upload = hand_in(
        client, POSTS, name="My talks.csv", name_="", slug="chats", description="Some", source="A forum", licence="CC0"
    )
    assert (upload.owner, upload.file_name, upload.dataset_slug) == (rosa, "My talks.csv", "chats")
    assert upload.dataset_name == "My talks"
    assert upload.dataset_about == {"description": "Some", "source": "A forum", "licence": "CC0"}
    assert upload.source is not None
    with upload.source.file.open("rb") as file:
        assert file.read() == POSTS.encode()
    assert not Dataset.objects.exists()


def test_a_new_dataset_is_named_as_its_file_and_its_short_name_is_free(client, otto):
    make_dataset("my-talks", owner=otto)
    upload = hand_in(client, POSTS, name="My_talks.csv")
    assert (upload.dataset_name, upload.dataset_slug) == ("My talks", "my-talks-2")
    assert hand_in(client, POSTS, name="Разговоры.csv").dataset_slug == "dataset"
    assert hand_in(client, POSTS, name="upload.csv").dataset_slug not in ("upload", "uploads")


def test_a_short_name_that_is_taken_or_reserved_is_refused_in_a_sentence(client, otto, letters):
    make_dataset("diaries", owner=otto)
    said = []
    for slug in ("diaries", "letters", "uploads", "two words"):
        page = client.post(UPLOAD, {"file": as_file(POSTS), "slug": slug})
        assert page.status_code == 422
        said += [str(error) for error in page.context["form"].errors["slug"]]
    assert said[:2] == [
        "This short name is taken: choose another.",
        "There is a dataset of this short name: choose it above to add to it, or choose another name.",
    ]
    assert "“uploads” is the name of a page" in said[2]
    assert len(said) == 4
    assert not StoredFile.objects.exists()


def test_a_file_goes_into_a_dataset_chosen_on_the_page_or_named_by_the_address(client, letters):
    for fields in ({"dataset": "letters", "slug": "ignored"}, {"into": "letters"}):
        upload = hand_in(client, POSTS, **fields)
        assert (upload.dataset_slug, upload.dataset_about) == ("letters", {})
    assert 'name="slug"' not in client.get(reverse("corpus:dataset-upload", args=["letters"])).content.decode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "The submitted file is empty."),
        (b"%PDF-1.7 and so on", "The file is a PDF"),
        (b"a,a\n1,2\n", "These headers come more than once: a."),
        (b"PK\x03\x04 cut off", "damaged or cut off"),
    ],
)
def test_what_can_never_be_read_is_refused_at_once(client, data, sentence):
    page = client.post(UPLOAD, {"file": as_file(data, "x.csv")})
    assert page.status_code == 422
    assert sentence in page.content.decode()
    assert not StoredFile.objects.exists()


def test_a_file_that_is_too_large_is_refused_and_the_bound_named(client, monkeypatch):
    monkeypatch.setattr(settings, "UPLOAD_MAX_BYTES", 10)
    page = client.post(UPLOAD, {"file": as_file(POSTS)})
    assert page.status_code == 422
    assert "The file is too large: at most 10\xa0bytes." in page.content.decode()
    assert not StoredFile.objects.exists()


def test_a_form_without_a_file_asks_for_one(client):
    page = client.post(UPLOAD, {"name": "Talks"})
    assert page.status_code == 422
    assert "file" in page.context["form"].errors
    assert 'value="Talks"' in page.content.decode()


def test_a_large_file_is_not_held_back_by_the_bound_of_plain_forms(client):
    filler = "x" * 1_000
    rows = "".join(f"{number},{filler},r\n" for number in range(7_000))
    assert len(rows) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    upload = hand_in(client, f"id,post,reply\n{rows}")
    assert upload.source is not None
    assert upload.source.size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert "the first 200 rows" in client.get(url("upload-check", upload)).content.decode()


def test_a_frozen_dataset_is_not_offered_and_says_why(client, letters):
    letters.frozen_at = timezone.now()
    letters.save()
    page = client.get(reverse("corpus:dataset-upload", args=["letters"])).content.decode()
    assert "Letters takes no more conversations" in page
    assert "<form" not in page.partition("<main")[2].partition("</main>")[0]
    assert client.post(UPLOAD, {"file": as_file(POSTS), "dataset": "letters"}).status_code == 422
    assert client.post(reverse("corpus:dataset-upload", args=["letters"]), {"file": as_file(POSTS)}).status_code == 200
    assert not ConversationUpload.objects.exists()


# --- The check page -----------------------------------------------------------------------------------------------


def test_the_check_page_shows_columns_guess_and_conversations(client, talks):
    page = client.get(url("upload-check", talks)).content.decode()
    assert "CSV · UTF-8 · columns apart by <code>,</code>" in page
    assert '<option value="post" selected>' in page
    assert "I lost my job." in page
    assert '<li class="turn turn--supporter"' in page
    assert "2 rows" in page


def test_an_update_keeps_the_mapping_and_shows_the_preview_anew(client):
    upload = hand_in(client, TURNS)
    sent = means(client, upload, nr="id", who="speaker", body="text", mood="factor.feeling")
    assert client.post(url("upload-check", upload), sent)["Location"] == url("upload-check", upload)
    look = client.get(url("upload-check", upload))
    assert look.context["preview"].fault == ""
    first = look.context["preview"].conversations[0]
    assert (first.external_id, [turn.text for turn in first.turns]) == ("a", ["Hello", "Hi"])
    assert first.factors == {"feeling": "sad"}
    assert "Other · <bdi>Ann</bdi>" in look.content.decode()
    upload.refresh_from_db()
    assert upload.mapping["columns"]["factor.feeling"] == "mood"


def test_htmx_gets_the_result_alone(client):
    upload = hand_in(client, TURNS)
    sent = means(client, upload, nr="id", who="speaker", body="text")
    piece = client.post(url("upload-check", upload), sent, headers={"HX-Request": "true"})
    page = piece.content.decode()
    assert piece.status_code == 200
    assert page.lstrip().startswith('<div id="result">')
    assert "<html" not in page
    assert "Hello" in page
    assert "The preview is up to date." in page


def test_roles_of_speakers_are_chosen_and_kept(client):
    upload = hand_in(client, TURNS)
    client.post(url("upload-check", upload), means(client, upload, nr="id", who="speaker", body="text"))
    form = client.get(url("upload-check", upload)).context["form"]
    assert [(row.label, row.count, row.role.value()) for row in form.speaker_rows()] == [("Ann", 2, ""), ("Bea", 1, "")]
    client.post(url("upload-check", upload), as_sent(form) | {"role_0": "seeker", "role_1": "supporter"})
    upload.refresh_from_db()
    assert upload.mapping["roles"] == {"Ann": "seeker", "Bea": "supporter"}
    page = client.get(url("upload-check", upload))
    assert page.context["preview"].conversations[0].turns[0].role == "seeker"
    assert [row.role.value() for row in page.context["form"].speaker_rows()] == ["seeker", "supporter"]


@pytest.mark.parametrize("partial", [False, True])
def test_two_columns_of_one_meaning_are_refused_in_a_sentence(client, talks, partial):
    headers = {"HX-Request": "true"} if partial else {}
    sent = means(client, talks, id="post")
    page = client.post(url("upload-check", talks), sent, headers=headers)
    assert page.status_code == 422
    assert "“id” and “post” both mean: Post. Choose one of them." in page.content.decode()
    talks.refresh_from_db()
    assert talks.mapping == {}
    assert client.post(url("upload-import", talks), sent).status_code == 422
    assert not Job.objects.exists()


def test_a_constant_beside_a_column_of_the_same_field_is_refused(client, talks):
    page = client.post(url("upload-check", talks), shown(client, talks, constant_post="Hello"))
    assert page.status_code == 422
    assert "“post” holds this already: empty one of them." in page.content.decode()


def test_constants_hold_for_every_row(client, talks):
    sent = shown(
        client, talks, constant_language="en", named_0_kind="factor", named_0_name="model", named_0_value="gpt"
    )
    job = run_import(client, talks, sent)
    assert job.state == JobState.DONE
    first = Dataset.objects.get(slug="talks").conversations.first()
    assert first is not None
    assert (first.language, first.factors) == ("en", {"model": "gpt"})


def test_columns_are_kept_named_left_out_or_dropped(client):
    upload = hand_in(client, "id,post,reply,a,b,c,d\n1,p,r,A,B,C,D\n")
    sent = means(client, upload, a="meta.alpha", b="unused", c="factor")
    run_import(client, upload, sent)
    one = Dataset.objects.get(slug="talks").conversations.get()
    assert (one.metadata, one.factors) == ({"alpha": "A", "d": "D"}, {"c": "C"})
    again = hand_in(client, "id,post,reply,a,b,c,d\n1,p,r,A,B,C,D\n", slug="bare")
    run_import(client, again, means(client, again, a="meta.alpha") | {"drop_unmapped": "on"})
    assert Dataset.objects.get(slug="bare").conversations.get().metadata == {"alpha": "A"}


def test_the_clean_up_of_commas_is_offered_only_where_it_is_found(client, talks):
    assert "clean_commas" not in client.get(url("upload-check", talks)).content.decode()
    upload = hand_in(client, "id,post,reply\n1,one_comma_ two,three\n", slug="marked")
    assert 'name="clean_commas"' in client.get(url("upload-check", upload)).content.decode()
    client.post(url("upload-check", upload), shown(client, upload, clean_commas="on"))
    page = client.get(url("upload-check", upload)).content.decode()
    assert "one, two" in page
    assert "Text before the clean-up" in page


def test_a_missing_column_keeps_a_file_from_being_imported(client):
    upload = hand_in(client, "nr;body\n1;hello\n")
    page = client.get(url("upload-check", upload)).content.decode()
    assert "No column means “Conversation id” and “Speaker” yet" in page
    assert "disabled" in page
    assert client.post(url("upload-import", upload), shown(client, upload)).status_code == 422


def test_a_form_of_other_columns_is_not_taken(client, talks):
    page = client.post(url("upload-check", talks), shown(client, talks, headers_seen="of-before"))
    assert page.status_code == 422
    assert "its columns have changed" in page.content.decode()


def test_problems_of_the_first_rows_are_listed_with_row_and_field(client):
    upload = hand_in(client, "id,post,reply\n1,a,b\n2,,b\n,x,y\n")
    page = client.get(url("upload-check", upload)).content.decode()
    assert "2 problems" in page
    assert '<td class="number" data-label="Row">3</td><td data-label="Field">Post</td><td>is empty' in page
    assert "As it stands it would be refused" in page


def test_a_long_conversation_and_a_long_turn_are_cut_for_display_and_stored_whole(client):
    long = "x" * 1_000_000
    rows = "".join(f"c,{number},user,turn {number}\n" for number in range(300))
    upload = hand_in(client, f"id,turn_index,speaker,text\nl,0,user,{long}\n{rows}")
    page = client.get(url("upload-check", upload)).content.decode()
    assert len(page) < 100_000
    assert "The first 3000 of 1000000 characters; all of them are stored." in page
    # Of 300 turns the first 199 stand in the first 200 rows.
    assert "187 more turns, cut here for length and stored whole." in page
    run_import(client, upload)
    assert stored() == {"l": [long], "c": [f"turn {number}" for number in range(300)]}


def test_a_file_whose_bytes_are_gone_says_so(client, talks):
    assert talks.source is not None
    default_storage.delete(str(talks.source.file.name))
    for address in (url("upload-check", talks),):
        assert "The file is no longer kept here. Upload it again." in client.get(address).content.decode()
    talks.source.delete()
    assert "The file is no longer kept here." in client.get(url("upload-check", talks)).content.decode()
    assert "file no longer kept" in client.get(UPLOADS).content.decode()
    assert client.post(url("upload-import", talks), {}).status_code == 422
    assert client.post(url("upload-check", talks), {}, headers={"HX-Request": "true"}).status_code == 200


def test_case_35_markup_in_headers_values_names_and_texts_is_shown_as_text(client, rosa):
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    quoted = evil.replace('"', '""')
    data = f'"{quoted}",speaker,text\n"{quoted}","{quoted}","{quoted}"\n"{quoted}",,x\n'
    upload = hand_in(client, data, name="<b>.csv", name_=evil)
    place = {"column_0": "id"}
    client.post(url("upload-check", upload), shown(client, upload) | place)
    SavedMapping.objects.create(owner=rosa, name=evil, mapping={"columns": {"title": evil + "?"}})
    look = client.get(url("upload-check", upload))
    assert look.context["preview"].fault == ""
    partial = client.post(
        url("upload-check", upload), shown(client, upload), headers={"HX-Request": "true"}
    ).content.decode()
    for page in (look.content.decode(), partial, client.get(UPLOADS).content.decode()):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in look.content.decode()


def test_headers_and_values_that_no_page_can_show_do_no_harm(client):
    data = r'{"id": "1", "post": "a", "reply": "b", "\ud800": "\udfff", "n\u0000l": "x"}'
    upload = hand_in(client, data, name="talks.jsonl")
    sent = shown(client, upload)
    assert client.post(url("upload-check", upload), sent).status_code == 302
    page = client.get(url("upload-check", upload))
    assert page.status_code == 200
    assert page.context["preview"].problems.total == 1
    job = run_import(client, upload)
    assert job.state == JobState.FAILED


# --- Reading it in another way ------------------------------------------------------------------------------------


def test_case_1_a_file_in_cp1252_names_the_byte_and_offers_its_encoding(client):
    data = "id,post,reply\n1,café,oui\n".encode("cp1252")
    upload = hand_in(client, data)
    page = client.get(url("upload-check", upload)).content.decode()
    assert f"Byte 0xe9 at offset {data.index(0xE9)} (line 2) is not valid UTF-8." in page
    assert "Read it as cp1252" in page
    client.post(url("upload-reading", upload), {"encoding": "cp1252", "format": ""})
    assert "café" in client.get(url("upload-check", upload)).content.decode()
    assert run_import(client, upload).state == JobState.DONE
    assert stored() == {"1": ["café", "oui"]}


def test_the_mapping_stays_where_the_columns_do_and_is_guessed_anew_where_not(client):
    upload = hand_in(client, "id;post;reply\n1;a;b\n")
    client.post(url("upload-check", upload), means(client, upload, reply="unused", post="transcript"))
    client.post(url("upload-reading", upload), {"encoding": "cp1252", "format": ""})
    upload.refresh_from_db()
    assert upload.mapping["columns"]["transcript"] == "post"
    client.post(url("upload-reading", upload), {"encoding": "cp1252", "format": "tsv"})
    upload.refresh_from_db()
    assert (upload.mapping, upload.format) == ({}, "tsv")
    assert "Nothing could be guessed" in client.get(url("upload-check", upload)).content.decode()


def test_utf_16_chosen_for_a_file_that_is_not_is_told_and_can_be_taken_back(client, talks):
    client.post(url("upload-reading", talks), {"encoding": "utf-16", "format": ""})
    page = client.get(url("upload-check", talks))
    assert "The file has no byte order mark, which UTF-16 begins with." in page.content.decode()
    client.post(url("upload-reading", talks), {"encoding": "", "format": ""})
    assert client.get(url("upload-check", talks)).context["preview"].fault == ""


def test_an_unknown_encoding_or_format_is_refused(client, talks):
    for sent in ({"encoding": "klingon"}, {"format": "docx"}):
        assert client.post(url("upload-reading", talks), sent).status_code == 422
    page = client.post(url("upload-reading", talks), {"format": "xlsx", "encoding": ""}, follow=True)
    assert "The file is not xlsx: it is plain text." in page.content.decode()


# --- Mappings that are kept ---------------------------------------------------------------------------------------


def test_a_mapping_is_kept_used_on_the_next_file_and_deleted(client, rosa):
    upload = hand_in(client, TURNS)
    sent = means(client, upload, nr="id", who="speaker", body="text", mood="unused") | {"mapping_name": "Forum"}
    assert client.post(url("mapping-keep", upload), sent).status_code == 302
    saved = SavedMapping.objects.get()
    assert (saved.owner, saved.name, saved.mapping["left_out"]) == (rosa, "Forum", ["mood"])
    following = hand_in(client, TURNS.replace("Ann", "Cleo"), slug="next")
    assert client.get(url("upload-check", following)).context["offered"][0].fits
    client.post(url("mapping-use", following, saved.pk))
    assert client.get(url("upload-check", following)).context["preview"].fault == ""
    client.post(url("mapping-delete", following, saved.pk))
    assert not SavedMapping.objects.exists()
    sent = shown(client, following, others_are_other="on")
    assert run_import(client, following, sent).state == JobState.DONE
    assert sorted(stored()) == ["a", "b"]


def test_mappings_that_fit_come_first_and_others_say_what_is_missing(client, rosa, talks):
    SavedMapping.objects.create(owner=rosa, name="a", mapping={"columns": {"post": "post", "title": "head"}})
    SavedMapping.objects.create(owner=rosa, name="b", mapping={"columns": {"post": "reply", "reply": "post"}})
    page = client.get(url("upload-check", talks))
    assert [(one.saved.name, one.missing) for one in page.context["offered"]] == [("b", []), ("a", ["head"])]
    assert "not in this file: head" in " ".join(page.content.decode().split())
    client.post(url("mapping-use", talks, SavedMapping.objects.get(name="a").pk))
    talks.refresh_from_db()
    assert talks.mapping["columns"] == {"post": "post", "title": ""}


def test_a_mapping_of_the_same_name_is_replaced(client, talks):
    for meaning in ("unused", "title"):
        client.post(url("mapping-keep", talks), means(client, talks, id=meaning) | {"mapping_name": "mine"})
    assert SavedMapping.objects.get().mapping["columns"]["title"] == "id"


def test_a_mapping_without_a_name_is_not_kept(client, talks):
    page = client.post(url("mapping-keep", talks), shown(client, talks))
    assert page.status_code == 422
    assert page.context["naming"].errors
    assert not SavedMapping.objects.exists()


def test_no_more_than_fifty_mappings_are_kept(client, rosa, talks):
    SavedMapping.objects.bulk_create(SavedMapping(owner=rosa, name=f"m{number}", mapping={}) for number in range(50))
    page = client.post(url("mapping-keep", talks), shown(client, talks, mapping_name="more"), follow=True)
    assert "delete one first" in page.content.decode()
    assert SavedMapping.objects.count() == 50
    client.post(url("mapping-keep", talks), shown(client, talks, mapping_name="m7"))
    assert SavedMapping.objects.get(name="m7").mapping != {}


def test_anothers_mapping_is_neither_offered_nor_used_nor_deleted(client, otto, talks):
    theirs = SavedMapping.objects.create(owner=otto, name="theirs", mapping={})
    assert "theirs" not in client.get(url("upload-check", talks)).content.decode()
    for name in ("mapping-use", "mapping-delete"):
        assert client.post(url(name, talks, theirs.pk)).status_code == 404
    assert SavedMapping.objects.get() == theirs


# --- The list, and letting go -------------------------------------------------------------------------------------


def test_the_list_tells_where_each_upload_stands(client, talks):
    assert "waits for your check" in client.get(UPLOADS).content.decode()
    client.post(url("upload-import", talks), shown(client, talks))
    assert "queued" in client.get(UPLOADS).content.decode()
    Job.objects.update(state=JobState.FAILED)
    page = client.get(UPLOADS).content.decode()
    assert "waits for your check" in page
    assert "last import refused" in page
    Job.objects.update(state=JobState.DONE)
    assert "imported" in client.get(UPLOADS).content.decode()


def test_an_empty_list_teaches_what_will_be_there(client):
    assert "No uploads yet" in client.get(UPLOADS).content.decode()


def test_the_list_comes_in_pages(client, talks, monkeypatch):
    monkeypatch.setattr("apps.corpus.views.uploads.UPLOADS_ON_A_PAGE", 1)
    hand_in(client, POSTS, name="later.csv")
    assert "talks.csv" not in client.get(UPLOADS).content.decode()
    assert "talks.csv" in client.get(UPLOADS, {"page": 2}).content.decode()


def test_an_upload_is_discarded_with_its_file(client, talks, django_capture_on_commit_callbacks):
    assert talks.source is not None
    name = str(talks.source.file.name)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(url("upload-discard", talks))
    assert not ConversationUpload.objects.exists()
    assert not StoredFile.objects.exists()
    assert not default_storage.exists(name)


def test_while_an_import_waits_or_runs_nothing_changes(client, talks):
    client.post(url("upload-import", talks), shown(client, talks))
    before = ConversationUpload.objects.values().get()
    page = client.get(url("upload-check", talks)).content.decode()
    assert "Its import is under way." in page
    assert 'id="mapping-form"' not in page
    client.post(url("upload-check", talks), {"column_0": ""})
    client.post(url("upload-reading", talks), {"encoding": "cp1252", "format": ""})
    client.post(url("upload-discard", talks))
    saved = SavedMapping.objects.create(owner=talks.owner, name="x", mapping={"columns": {"post": "reply"}})
    client.post(url("mapping-use", talks, saved.pk))
    assert ConversationUpload.objects.values().get() == before


def test_the_datasets_lead_to_uploading(client, letters):
    assert f'href="{UPLOAD}"' in client.get(reverse("corpus:datasets")).content.decode()
    page = client.get(reverse("corpus:dataset", args=["letters"])).content.decode()
    assert f'href="{reverse("corpus:dataset-upload", args=["letters"])}"' in page


# --- What they cost -----------------------------------------------------------------------------------------------


def queries(client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_the_number_of_queries_does_not_grow(client, rosa, talks):
    SavedMapping.objects.create(owner=rosa, name="one", mapping={"columns": {"post": "post"}})
    before = [queries(client, address) for address in (UPLOAD, UPLOADS, url("upload-check", talks))]
    for number in range(4):
        make_dataset(f"more-{number}", owner=rosa)
        SavedMapping.objects.create(owner=rosa, name=f"m{number}", mapping={"columns": {"post": "post"}})
    columns = ",".join(f"c{number}" for number in range(60))
    rows = "".join(f"{number},p,r,{','.join(['x'] * 60)}\n" for number in range(150))
    wide = hand_in(client, f"id,post,reply,{columns}\n{rows}", name="wide.csv")
    assert [queries(client, address) for address in (UPLOAD, UPLOADS, url("upload-check", wide))] == before
