"""Datasets made, described, copied and deleted in the browser."""

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import Role
from apps.common.models import AuditEntry, Job, JobState
from apps.corpus.models import Conversation, ConversationUpload, Dataset, Turn
from apps.corpus.parsing.mapping import parse_mapping
from apps.corpus.services.datasets import copy_dataset, free_slug
from apps.corpus.services.freezing import freeze_datasets
from apps.studies.models import Block
from tests.conftest import make_dataset, make_study, make_user
from tests.corpus.test_importing import import_text

pytestmark = pytest.mark.django_db

NEW = reverse("corpus:dataset-new")


def url(act: str, slug: str = "letters") -> str:
    return reverse(f"corpus:dataset-{act}", args=[slug])


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def every_page() -> list[str]:
    return [NEW, url("edit"), url("copy"), url("delete")]


# --- Who may ------------------------------------------------------------------------------------------------------


def test_nobody_signed_in_is_sent_to_the_sign_in_page(sign_in, letters):
    for page in every_page():
        assert sign_in(None).get(page)["Location"].startswith(reverse("accounts:sign-in"))
        assert sign_in(None).post(page)["Location"].startswith(reverse("accounts:sign-in"))


def test_an_annotator_is_refused(sign_in, emil, letters):
    for page in every_page():
        assert (sign_in(emil).get(page).status_code, sign_in(emil).post(page).status_code) == (403, 403)


def test_owners_and_admins_open_every_page(sign_in, ada, rosa, letters):
    for person in (ada, rosa):
        assert [sign_in(person).get(page).status_code for page in every_page()] == [200, 200, 200, 200]


def test_another_owners_dataset_is_not_found(sign_in, otto, letters):
    for page in every_page()[1:]:
        answers = sign_in(otto).get(page), sign_in(otto).post(page, {"name": "Mine", "confirm": "Letters"})
        assert [answer.status_code for answer in answers] == [404, 404]
    assert Dataset.objects.get().name == "Letters"


def test_the_sites_datasets_are_copied_by_researchers_and_changed_by_admins(sign_in, ada, otto):
    make_dataset("diaries")
    client = sign_in(otto)
    answers = [client.get(url(act, "diaries")).status_code for act in ("edit", "copy", "delete")]
    assert answers == [404, 200, 404]
    shown = client.get(reverse("corpus:dataset", args=["diaries"])).content.decode()
    assert url("copy", "diaries") in shown
    assert url("edit", "diaries") not in shown
    assert url("edit", "diaries") in sign_in(ada).get(reverse("corpus:dataset", args=["diaries"])).content.decode()


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_refused(client, letters, method):
    assert [getattr(client, method)(page).status_code for page in every_page()] == [405, 405, 405, 405]


# --- Making -------------------------------------------------------------------------------------------------------


def test_a_dataset_is_made_with_a_short_name_from_its_name(client, rosa):
    response = client.post(NEW, {"name": "Träume & Briefe", "source": "Written\r\nby us", "licence": "CC0"})
    dataset = Dataset.objects.get()
    assert response["Location"] == reverse("corpus:dataset", args=["traeume-briefe"])
    assert (dataset.slug, dataset.name, dataset.owner) == ("traeume-briefe", "Träume & Briefe", rosa)
    assert (dataset.source, dataset.licence, dataset.is_frozen) == ("Written\nby us", "CC0", False)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "dataset.create", "traeume-briefe")


def test_a_short_name_of_ones_own_is_taken(client):
    client.post(NEW, {"name": "Letters", "slug": "my-letters"})
    assert Dataset.objects.get().slug == "my-letters"


@pytest.mark.parametrize(
    ("slug", "message"),
    [
        ("letters", "A dataset has this short name already. Choose another."),
        ("new", "“new” is the name of a page of this site. Choose another."),
        ("upload", "“upload” is the name of a page of this site. Choose another."),
        ("no spaces", "Enter a valid “slug”"),
        ("x" * 81, "Ensure this value has at most 80 characters"),
    ],
)
def test_a_short_name_that_cannot_be_is_refused_and_nothing_typed_is_lost(client, letters, slug, message):
    page = client.post(NEW, {"name": "Other letters", "slug": slug, "description": "Long words."})
    assert page.status_code == 422
    assert message in page.content.decode()
    assert "Long words." in page.content.decode()
    assert Dataset.objects.count() == 1


def test_a_dataset_without_a_name_is_refused(client):
    assert client.post(NEW, {"name": " "}).status_code == 422
    assert not Dataset.objects.exists()


def test_a_short_name_taken_at_this_very_moment_is_told(client, monkeypatch):
    def beaten(**options):
        raise IntegrityError

    monkeypatch.setattr("apps.corpus.views.editing.create_dataset", beaten)
    page = client.post(NEW, {"name": "Letters"})
    assert page.status_code == 422
    assert "A dataset has this short name already." in page.content.decode()


def test_short_names_are_free_and_none_is_a_page():
    for name in ("Talks", "Talks"):
        Dataset.objects.create(slug=free_slug(name), name=name)
    assert [dataset.slug for dataset in Dataset.objects.order_by("pk")] == ["talks", "talks-2"]
    assert free_slug("New") == "new-2"
    assert free_slug("感情") == "dataset"
    assert free_slug("x" * 200) == "x" * 75


def test_only_admins_choose_whose_a_new_dataset_is(sign_in, ada, rosa, otto):
    sign_in(rosa).post(NEW, {"name": "Mine", "owner": otto.pk})
    sign_in(ada).post(NEW, {"name": "Sites", "owner": ""})
    sign_in(ada).post(NEW, {"name": "Ottos", "owner": otto.pk})
    assert dict(Dataset.objects.values_list("slug", "owner__name")) == {"mine": "Rosa", "sites": None, "ottos": "Otto"}


# --- Describing ---------------------------------------------------------------------------------------------------


def test_what_is_said_of_a_dataset_is_changed_and_noted(client, letters, rosa):
    response = client.post(url("edit"), {"name": "Old letters", "description": "a\r\nb", "source": "", "licence": ""})
    assert response["Location"] == reverse("corpus:dataset", args=["letters"])
    letters.refresh_from_db()
    assert (letters.slug, letters.name, letters.description) == ("letters", "Old letters", "a\nb")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.details) == ("dataset.edit", {"changed": ["name", "description"]})


def test_saving_what_is_stored_already_leaves_no_trace(client, letters):
    Dataset.objects.update(description="a\nb")
    page = client.post(url("edit"), {"name": "Letters", "description": "a\r\nb"}, follow=True)
    assert "Nothing has changed." in page.content.decode()
    assert not AuditEntry.objects.exists()


def test_a_frozen_dataset_may_still_be_described_better(client, letters):
    freeze_datasets(dataset_ids=[letters.pk])
    assert client.post(url("edit"), {"name": "Letters", "licence": "CC0"}).status_code == 302
    assert Dataset.objects.get().licence == "CC0"


def test_the_short_name_never_changes(client, letters):
    assert 'name="slug"' not in client.get(url("edit")).content.decode()
    client.post(url("edit"), {"name": "Letters", "slug": "other"})
    assert Dataset.objects.get().slug == "letters"


def test_an_admin_gives_a_dataset_to_another_owner_or_to_the_site(sign_in, ada, otto, letters):
    client = sign_in(ada)
    client.post(url("edit"), {"name": "Letters", "owner": otto.pk})
    assert Dataset.objects.get().owner == otto
    client.post(url("edit"), {"name": "Letters", "owner": ""})
    assert Dataset.objects.get().owner is None
    assert [entry.details for entry in AuditEntry.objects.order_by("pk")] == [
        {"changed": ["owner"], "owner": "otto@example.org"},
        {"changed": ["owner"], "owner": None},
    ]


def test_only_people_who_work_with_datasets_are_offered_as_owners(sign_in, ada, emil, otto, letters):
    gone = make_user("gone@example.org", Role.RESEARCHER, "Gone")
    gone.is_active = False
    gone.save()
    form = sign_in(ada).get(url("edit")).context["form"]
    assert {user.name for user in form.fields["owner"].queryset} == {"Ada", "Rosa", "Otto"}
    assert sign_in(ada).post(url("edit"), {"name": "Letters", "owner": emil.pk}).status_code == 422


def test_a_researcher_cannot_give_a_dataset_away(client, letters, rosa, otto):
    client.post(url("edit"), {"name": "Letters", "owner": otto.pk})
    assert Dataset.objects.get().owner == rosa


# --- Copying ------------------------------------------------------------------------------------------------------


def test_a_copy_has_every_conversation_and_can_be_changed(client, rosa):
    text = 'id,post,reply,model,note\n2,"one_comma_ two\r\n",b,A,x\n1,c,\u202ed,B,\n'
    import_text(text, mapping=parse_mapping(["factor.model=model"], clean_commas=True))
    original = Dataset.objects.get()
    Dataset.objects.update(owner=rosa, licence="CC0", source="Somewhere", description="Words")
    freeze_datasets(dataset_ids=[original.pk])
    response = client.post(url("copy", "talks"), {"name": "Talks again"})
    copy = Dataset.objects.get(slug="talks-again")
    assert response["Location"] == reverse("corpus:dataset", args=["talks-again"])
    assert (copy.owner, copy.licence, copy.source, copy.description) == (rosa, "CC0", "Somewhere", "Words")
    assert not copy.is_frozen
    hidden = {"pk", "id", "dataset_id", "created_at", "updated_at"}
    fields = [field.attname for field in Conversation._meta.concrete_fields if field.attname not in hidden]
    assert list(copy.conversations.values(*fields)) == list(original.conversations.values(*fields))
    turns = ("conversation__external_id", "index", "role", "speaker", "text", "raw_text")
    ordered = Turn.objects.order_by("conversation__external_id", "index")
    kept = [list(ordered.filter(conversation__dataset=one).values(*turns)) for one in (original, copy)]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 4
    again = import_text(text, slug="talks-again", mapping=parse_mapping(["factor.model=model"], clean_commas=True))
    assert (again.added, again.skipped) == (0, 2)
    entry = AuditEntry.objects.get(action="dataset.copy")
    assert (entry.actor, entry.subject) == (rosa, "talks-again")
    assert entry.details == {"copied_from": "talks", "conversations": 2, "owner": "rosa@example.org"}


def test_a_name_for_the_copy_is_suggested_and_a_taken_short_name_is_refused(client, letters):
    assert 'value="Letters, copy"' in client.get(url("copy")).content.decode()
    assert client.post(url("copy"), {"name": "Letters", "slug": "letters"}).status_code == 422
    client.post(url("copy"), {"name": "Letters"})
    assert {*Dataset.objects.values_list("slug", flat=True)} == {"letters", "letters-2"}


def test_a_copy_that_fails_leaves_nothing(letters, rosa, monkeypatch):
    monkeypatch.setattr("apps.corpus.services.datasets._copy_turns", lambda *datasets: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        copy_dataset(dataset=letters, copy=Dataset(slug="copy", name="Copy"), actor=rosa)
    assert (Dataset.objects.count(), Conversation.objects.count()) == (1, 3)


def test_a_large_dataset_is_copied_in_as_many_queries_as_a_small_one(rosa):
    counts = []
    for number in (3, 60):
        dataset = make_dataset(f"set-{number}", conversations=number)
        with CaptureQueriesContext(connection) as queries:
            copy_dataset(dataset=dataset, copy=Dataset(slug=f"copy-{number}", name="Copy"), actor=rosa)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert Turn.objects.filter(conversation__dataset__slug="copy-60").count() == 120


# --- Deleting -----------------------------------------------------------------------------------------------------


def test_a_dataset_is_deleted_once_its_name_is_typed(client, letters, rosa):
    make_dataset("diaries")
    html = client.get(url("delete")).content.decode()
    assert "3 conversations" in html
    assert "6 turns" in html
    wrong = client.post(url("delete"), {"confirm": "letters"})
    assert wrong.status_code == 422
    assert "This is not the name: Letters." in wrong.content.decode()
    assert client.post(url("delete"), {"confirm": "Letters"})["Location"] == reverse("corpus:datasets")
    assert [dataset.slug for dataset in Dataset.objects.all()] == ["diaries"]
    assert (Conversation.objects.count(), Turn.objects.count()) == (3, 6)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "dataset.delete", "letters")
    assert entry.details == {"conversations": 3, "turns": 6}


def test_a_dataset_that_a_study_uses_is_not_deleted_and_hidden_studies_are_only_counted(
    client, sign_in, ada, grief, strangers, letters
):
    Block.objects.create(study=strangers, slug="more", title="More", position=1, dataset=letters)
    html = client.get(url("delete")).content.decode()
    assert "Grief" in html
    assert "Strangers" not in html
    assert "and 1 other study" in html
    assert "Strangers" in sign_in(ada).get(url("delete")).content.decode()
    assert client.post(url("delete"), {"confirm": "Letters"}).status_code == 422
    assert letters.conversations.count() == 3


def test_a_dataset_that_only_strangers_use_says_so_without_naming_them(client, strangers, letters):
    Block.objects.create(study=strangers, slug="more", title="More", position=1, dataset=letters)
    html = client.get(url("delete")).content.decode()
    assert "1 study that you are not a member of" in html
    assert "Strangers" not in html


@pytest.mark.parametrize(("state", "answer"), [(JobState.RUNNING, 422), (JobState.QUEUED, 422), (JobState.DONE, 302)])
def test_a_dataset_into_which_an_import_runs_is_not_deleted(client, letters, rosa, state, answer):
    job = Job.objects.create(kind="corpus.import", task="corpus.import_upload", title="t", owner=rosa, state=state)
    ConversationUpload.objects.create(file_name="a.csv", owner=rosa, dataset_slug="letters", job=job)
    page = client.post(url("delete"), {"confirm": "Letters"})
    assert page.status_code == answer
    assert Dataset.objects.exists() is (answer == 422)
    assert answer == 302 or "An import into this dataset is under way." in page.content.decode()


def test_files_that_would_make_the_dataset_anew_are_told_before_it_is_deleted(client, letters, rosa):
    assert "not imported yet" not in client.get(url("delete")).content.decode()
    for state in (None, JobState.FAILED, JobState.DONE):
        job = state and Job.objects.create(kind="k", task="t", title="t", owner=rosa, state=state)
        ConversationUpload.objects.create(file_name="a.csv", owner=rosa, dataset_slug="letters", job=job)
    ConversationUpload.objects.create(file_name="a.csv", owner=rosa, dataset_slug="letters-2")
    assert "2 files that were uploaded for it are not imported yet." in client.get(url("delete")).content.decode()


def test_the_pages_cost_as_many_queries_for_many_studies_and_conversations_as_for_few(
    client, grief, letters, rosa, framework
):
    def cost() -> list[int]:
        counts = []
        for page in every_page():
            with CaptureQueriesContext(connection) as queries:
                client.get(page)
            counts.append(len(queries))
        return counts

    cost()
    few = cost()
    for number in range(3):
        make_study(f"more-{number}", owner=rosa, dataset=letters, frameworks=[framework])
    assert cost() == few
