"""Setting up a study in the browser: who may, what the pages do, and what they refuse."""

import pytest
from django.urls import reverse

from apps.common.models import AuditEntry
from apps.corpus.models import Dataset
from apps.frameworks.models import Framework
from apps.studies.models import Block, Item, MemberRole, Membership, Study, StudyStatus
from apps.studies.services.design import add_block
from tests.conftest import make_dataset, make_framework
from tests.studies.test_changing_blocks import take, texts


@pytest.fixture
def draft(grief):
    grief.status = StudyStatus.DRAFT
    grief.save()
    return grief


def address(name, study, *more):
    return reverse(f"studies:{name}", args=[study.slug, *more])


def block_fields(framework, **changes):
    fields = {
        "title": "Notes from the ward",
        "slug": "",
        "take": "all",
        "sample_size": "",
        f"framework-{framework.pk}": "on",
        f"place-{framework.pk}": "1",
    }
    for kind in ("expert", "crowd", "self", "reference"):
        fields |= {f"who-{kind}": "nobody", f"overlap-{kind}": ""}
    return fields | {"who-expert": "every"} | changes


# --- The ladder -------------------------------------------------------------------------------------------------------

ADDRESSES = {
    "settings": "/studies/grief/settings/",
    "copy": "/studies/grief/copy/",
    "delete": "/studies/grief/delete/",
    "block-new": "/studies/grief/blocks/new/",
    "block": "/studies/grief/blocks/main/",
    "block-remove": "/studies/grief/blocks/main/remove/",
    "activate": "/studies/grief/activate/",
    "draft": "/studies/grief/draft/",
    "close": "/studies/grief/close/",
    "reopen": "/studies/grief/reopen/",
    "discussion": "/studies/grief/discussion/",
    "raters": "/studies/grief/raters/",
    "skipped": "/studies/grief/raters/skipped/",
}
READ_ONLY = {"raters", "skipped"}
OF_RESEARCHERS = {"copy", "raters"}


@pytest.mark.parametrize("name", ADDRESSES)
def test_pages_of_a_study_need_somebody(sign_in, draft, name):
    response = sign_in(None).get(ADDRESSES[name])
    assert response.status_code == 302
    assert response.url.startswith(reverse("accounts:sign-in"))


@pytest.mark.parametrize("name", ADDRESSES)
def test_owners_and_admins_open_every_page(sign_in, rosa, ada, draft, name):
    assert sign_in(rosa).get(ADDRESSES[name]).status_code == 200
    assert sign_in(ada).get(ADDRESSES[name]).status_code == 200


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("name", ADDRESSES)
def test_case_33_strangers_and_raters_find_nothing(sign_in, otto, emil, draft, name, method):
    before = list(Study.objects.values())
    found_by_strangers = getattr(sign_in(otto), method)(ADDRESSES[name]).status_code
    found_by_raters = getattr(sign_in(emil), method)(ADDRESSES[name]).status_code
    no_such_method = name in READ_ONLY and method == "post"
    assert found_by_strangers == (405 if no_such_method else 404)
    # Copying is for researchers of the site; others learn nothing from being refused.
    assert found_by_raters == (405 if no_such_method else 403 if name == "copy" else 404)
    assert list(Study.objects.values()) == before


@pytest.mark.parametrize("name", ADDRESSES)
def test_researchers_of_the_study_read_and_do_not_change(sign_in, otto, draft, name):
    Membership.objects.create(study=draft, user=otto, role=MemberRole.RESEARCHER)
    assert sign_in(otto).get(ADDRESSES[name]).status_code == (200 if name in OF_RESEARCHERS else 403)
    if name not in OF_RESEARCHERS | READ_ONLY:
        assert sign_in(otto).post(ADDRESSES[name], {"confirm": "grief"}).status_code == 403


@pytest.mark.parametrize("name", ADDRESSES)
def test_other_methods_are_refused(sign_in, rosa, draft, name):
    assert sign_in(rosa).put(ADDRESSES[name]).status_code == 405
    assert sign_in(rosa).delete(ADDRESSES[name]).status_code == 405
    assert (sign_in(rosa).post(ADDRESSES[name]).status_code == 405) == (name in READ_ONLY)


def test_blocks_are_moved_by_post_only_and_by_owners(sign_in, rosa, otto, draft):
    move = address("block-move", draft, "main")
    assert sign_in(rosa).get(move).status_code == 405
    assert sign_in(otto).post(move, {"to": "up"}).status_code == 404
    assert sign_in(None).post(move).status_code == 302


def test_a_block_of_another_study_is_not_there(sign_in, rosa, draft, strangers):
    strangers.blocks.update(slug="theirs")
    assert sign_in(rosa).get(address("block", draft, "theirs")).status_code == 404


# --- A new study ------------------------------------------------------------------------------------------------------


def test_making_a_study_is_for_researchers(sign_in, emil, rosa):
    assert sign_in(None).get(reverse("studies:new")).status_code == 302
    assert sign_in(emil).get(reverse("studies:new")).status_code == 403
    assert sign_in(emil).post(reverse("studies:new"), {"title": "Mine"}).status_code == 403
    assert sign_in(rosa).get(reverse("studies:new")).status_code == 200
    assert sign_in(rosa).delete(reverse("studies:new")).status_code == 405


def test_a_study_is_made_and_its_short_name_comes_from_the_title(sign_in, rosa):
    response = sign_in(rosa).post(reverse("studies:new"), {"title": "Trauer & Wärme, 2026", "description": "Why."})
    study = Study.objects.get()
    assert response.url == reverse("studies:overview", args=["trauer-waerme-2026"])
    assert (study.slug, study.title, study.status) == ("trauer-waerme-2026", "Trauer & Wärme, 2026", "draft")
    assert study.is_managed_by(rosa)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"title": "", "slug": "x"}, "This field is required"),
        ({"title": "X", "slug": "new"}, "is the name of a page of this site"),
        ({"title": "New", "slug": ""}, "is the name of a page of this site"),
        ({"title": "悲しみ", "slug": ""}, "Give a short name of letters"),
        ({"title": "X", "slug": "grief"}, "Another study is called grief already"),
        ({"title": "X", "slug": "a b"}, "valid “slug”"),
    ],
)
def test_what_cannot_be_a_study_is_refused(sign_in, rosa, grief, fields, words):
    response = sign_in(rosa).post(reverse("studies:new"), fields)
    assert response.status_code == 422
    assert words in response.text
    assert Study.objects.count() == 1


# --- The overview as a checklist --------------------------------------------------------------------------------------


def test_a_draft_shows_what_is_missing(sign_in, rosa, otto, draft):
    text = sign_in(rosa).get(address("overview", draft)).text
    for words in ("Before raters can begin", "Write instructions", "advised", "Invite raters"):
        assert words in text
    assert f'href="{address("activate", draft)}"' in text
    Membership.objects.create(study=draft, user=otto, role=MemberRole.RESEARCHER)
    text = sign_in(otto).get(address("overview", draft)).text
    assert "Before raters can begin" not in text
    assert address("block", draft, "main") not in text
    assert address("settings", draft) not in text


def test_a_rater_is_told_where_the_study_stands(sign_in, emil, draft):
    assert "It has not begun yet" in sign_in(emil).get(address("overview", draft)).text
    Study.objects.update(status=StudyStatus.ACTIVE)
    assert reverse("rating:start", args=["grief"]) in sign_in(emil).get(address("overview", draft)).text
    Study.objects.update(status=StudyStatus.CLOSED)
    assert "This study is closed" in sign_in(emil).get(address("overview", draft)).text


def test_case_35_instructions_are_shown_without_what_they_would_run(sign_in, rosa, emil, draft):
    Study.objects.update(
        instructions="# Read\n<script>alert(1)</script> ![x](https://elsewhere.example/x.png) <img src=x onerror=1>",
        content_warning="<script>2</script>",
        support_contact="<img src=x onerror=3>",
        title="<script>4</script>",
    )
    for user in (rosa, emil):
        text = sign_in(user).get(address("overview", draft)).text
        for hostile in ("<script>alert", "<img", "<script>2", "<script>4", "elsewhere.example"):
            assert hostile not in text


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_each_section_is_saved_on_its_own(sign_in, rosa, draft):
    client, page = sign_in(rosa), address("settings", draft)
    assert client.post(page, {"section": "texts", "instructions": "Read.\r\nTwice."}).status_code == 302
    assert (
        client.post(page, {"section": "options", "reservation_hours": "2", "allow_comments": "on"}).status_code == 302
    )
    assert client.post(page, {"section": "about", "title": "Grief 2", "description": "D"}).status_code == 302
    assert client.post(page, {"section": "seed", "seed": "11"}).status_code == 302
    draft.refresh_from_db()
    assert (draft.title, draft.description, draft.instructions) == ("Grief 2", "D", "Read.\r\nTwice.")
    assert (draft.reservation_hours, draft.allow_comments, draft.allow_evidence) == (2, True, False)
    assert draft.seed == 11


def test_that_its_text_stays_on_this_machine_is_set_and_shown_and_remembered(sign_in, rosa, draft):
    client, overview = sign_in(rosa), address("overview", draft)
    assert "only after it was confirmed" in client.get(overview).text
    assert client.post(address("settings", draft), {"section": "privacy", "local_only": "on"}).status_code == 302
    draft.refresh_from_db()
    assert draft.local_only
    assert "text stays on this machine" in client.get(overview).text
    assert AuditEntry.objects.get(action="study.change").details == {"local_only": [False, True]}
    client.post(address("settings", draft), {"section": "privacy"})
    draft.refresh_from_db()
    assert not draft.local_only


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ("texts", {"instructions": "Read."}),
        ("options", {"reservation_hours": "2"}),
        ("privacy", {"local_only": "on"}),
        ("about", {"title": "Grief"}),
        ("seed", {"seed": "11"}),
    ],
)
def test_what_was_saved_is_said_in_its_section(sign_in, rosa, draft, section, fields):
    client, page = sign_in(rosa), address("settings", draft)
    response = client.post(page, {"section": section, **fields})
    assert response.url == f"{page}#{section}-heading"
    text = client.get(page).text
    assert text.count("Saved.") == 1
    assert f'id="{section}-heading"' in text[: text.index("Saved.")].rpartition("<h2")[2]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"section": "about", "title": ""}, "This field is required"),
        ({"section": "options", "reservation_hours": "0"}, "greater than or equal to 1"),
        ({"section": "options", "reservation_hours": "721"}, "less than or equal to 720"),
        ({"section": "seed", "seed": "-1"}, "greater than or equal to 0"),
        ({"section": "nonsense", "status": "closed"}, "Settings"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_the_page_is_about_what_is_stored(sign_in, rosa, draft, fields, words):
    before = Study.objects.values().get()
    response = sign_in(rosa).post(address("settings", draft), fields)
    assert response.status_code == 422
    assert words in response.text
    assert "Grief" in response.text
    assert Study.objects.values().get() == before


def test_instructions_are_looked_at_before_they_are_saved(sign_in, rosa, draft):
    fields = {"section": "texts", "instructions": "# Hello\n**there**", "preview": "1"}
    client, page = sign_in(rosa), address("settings", draft)
    whole = client.post(page, fields)
    assert whole.status_code == 200
    assert "<h4>Hello</h4>" in whole.text
    assert "# Hello\n**there**</textarea>" in whole.text
    piece = client.post(page, fields, headers={"HX-Request": "true"})
    assert "<h4>Hello</h4>" in piece.text
    assert "<textarea" not in piece.text
    draft.refresh_from_db()
    assert draft.instructions == ""


def test_the_seed_of_an_active_study_is_told_and_not_asked(sign_in, rosa, grief):
    page = address("settings", grief)
    assert 'name="seed"' not in sign_in(rosa).get(page).text
    response = sign_in(rosa).post(page, {"section": "seed", "seed": "3"})
    assert response.status_code == 422
    grief.refresh_from_db()
    assert grief.seed == 2026


# --- Blocks -----------------------------------------------------------------------------------------------------------


def test_a_dataset_is_chosen_among_those_one_may_see(sign_in, rosa, draft, strangers):
    Dataset.objects.create(slug="bare", name="Bare", owner=rosa)
    text = sign_in(rosa).get(address("block-new", draft)).text
    assert "?dataset=letters" in text
    assert "Bare" in text
    assert "?dataset=bare" not in text
    assert "diaries" not in text
    assert sign_in(rosa).get(address("block-new", draft), {"dataset": "diaries"}).status_code == 404
    posted = sign_in(rosa).post(
        address("block-new", draft) + "?dataset=diaries", block_fields(Framework.objects.first())
    )
    assert posted.status_code == 404


def test_without_datasets_the_page_says_where_they_come_from(sign_in, otto, db):
    study = Study.objects.create(slug="s", title="S")
    Membership.objects.create(study=study, user=otto, role=MemberRole.OWNER)
    assert reverse("corpus:datasets") in sign_in(otto).get(address("block-new", study)).text


def test_a_block_is_laid_out(sign_in, rosa, draft, framework):
    notes, second = make_dataset("notes", conversations=6, owner=rosa), make_framework("second-scales")
    for number, conversation in enumerate(notes.conversations.all()):
        conversation.metadata = {"topic": "work" if number < 2 else "grief"}
        conversation.save()
    page = address("block-new", draft) + "?dataset=notes"
    client = sign_in(rosa)
    form = client.get(page).context["form"]
    topic = form.trait_fields[0]
    fields = block_fields(
        framework,
        **{
            f"place-{framework.pk}": "2",
            f"framework-{second.pk}": "on",
            f"place-{second.pk}": "1",
            topic.html_name: ["grief"],
            "take": "sample",
            "sample_size": "3",
            "who-crowd": "exactly",
            "overlap-crowd": "5",
        },
    )
    response = client.post(page, fields)
    assert response.url == address("overview", draft)
    block = draft.blocks.get(slug="notes-from-the-ward")
    assert block.metadata_filter == {"meta.topic": ["grief"]}
    assert len(texts(block)) == block.sample_size == 3
    assert dict(block.groups.values_list("kind", "overlap")) == {"expert": None, "crowd": 5}
    assert [row.framework for row in block.block_frameworks.all()] == [second, framework]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": ""}, "This field is required"),
        ({"slug": "main"}, "Another block of the study is called main already"),
        ({"slug": "new"}, "is the name of a page"),
        ({"take": "sample"}, "Say how many conversations to draw"),
        ({"take": "sample", "sample_size": "4"}, "a sample of 4 items was asked for, but there are only 3"),
        ({"take": "sample", "sample_size": "0"}, "greater than or equal to 1"),
        ({"who-crowd": "exactly"}, "Say how many raters each item is to have"),
        ({"who-crowd": "exactly", "overlap-crowd": "0"}, "greater than or equal to 1"),
        ({"who-crowd": "some"}, "Select a valid choice"),
        ({"overlap-crowd": "3"}, "A number is for raters who share the items"),
        ({"sample_size": "3"}, "A size is for a sample"),
    ],
)
def test_a_block_that_cannot_be_is_refused_in_words(sign_in, rosa, draft, framework, changes, words):
    page = address("block-new", draft) + "?dataset=letters"
    response = sign_in(rosa).post(page, block_fields(framework, **changes))
    assert response.status_code == 422
    assert words in response.text
    assert draft.blocks.count() == 1


def test_a_block_needs_a_framework(sign_in, rosa, draft, framework):
    fields = block_fields(framework)
    del fields[f"framework-{framework.pk}"]
    response = sign_in(rosa).post(address("block-new", draft) + "?dataset=letters", fields)
    assert response.status_code == 422
    assert "Choose at least one framework" in response.text


def test_the_number_taken_is_counted_before_anything_is_saved(sign_in, rosa, draft, framework):
    page = address("block-new", draft) + "?dataset=letters"
    fields = block_fields(framework, take="sample", sample_size="2", title="", preview="1")
    client = sign_in(rosa)
    whole = client.post(page, fields)
    assert whole.status_code == 200
    assert (whole.context["n_taken"], whole.context["selection"].n_fitting) == (2, 3)
    piece = client.post(page, fields, headers={"HX-Request": "true"})
    assert "conversations are taken: 3 of 3 fit" in piece.text
    assert "<form" not in piece.text
    too_many = client.post(page, fields | {"sample_size": "9"}, headers={"HX-Request": "true"})
    assert "there are only 3" in too_many.text
    assert draft.blocks.count() == 1


def test_an_edited_block_shows_what_it_is_and_keeps_an_older_version(sign_in, rosa, draft, framework):
    newer = Framework.objects.create(slug=framework.slug, version=2, name="Warmth", citation="c", content_hash="x")
    page = address("block", draft, "main")
    form = sign_in(rosa).get(page).context["form"]
    assert [row.framework for row in form.framework_rows] == [framework, newer]
    assert [row.use.value() for row in form.framework_rows] == [True, False]
    both = block_fields(framework, title="Main", slug="main", **{f"framework-{newer.pk}": "on"})
    response = sign_in(rosa).post(page, both)
    assert response.status_code == 422
    assert "comes twice in one block" in response.text


def test_what_was_chosen_by_and_is_gone_from_the_dataset_is_still_shown(sign_in, rosa, draft, letters):
    Block.objects.update(metadata_filter={"meta.gone": ["x"]})
    form = sign_in(rosa).get(address("block", draft, "main")).context["form"]
    assert [(field.label, field.value()) for field in form.trait_fields] == [("gone", ["x"])]
    assert "only meta.gone: x" in sign_in(rosa).get(address("overview", draft)).text


def test_a_block_can_be_laid_out_from_another_dataset(sign_in, rosa, draft, framework):
    make_dataset("notes", conversations=5, owner=rosa)
    page = address("block", draft, "main") + "?dataset=notes"
    assert "laid out from another dataset" in sign_in(rosa).get(page).text
    assert sign_in(rosa).post(page, block_fields(framework, slug="main")).status_code == 302
    assert len(texts(draft.blocks.get())) == 5


def test_once_begun_only_title_and_groups_of_a_block_are_asked(sign_in, rosa, grief):
    take(grief)
    page = address("block", grief, "main")
    text = sign_in(rosa).get(page).text
    assert "sample_size" not in text
    fields = block_fields(Framework.objects.first(), title="Renamed", slug="other", take="sample", sample_size="1")
    assert sign_in(rosa).post(page, fields | {"who-crowd": "exactly", "overlap-crowd": "2"}).status_code == 302
    block = grief.blocks.get()
    assert (block.title, block.slug, len(texts(block))) == ("Renamed", "main", 3)
    assert dict(block.groups.values_list("kind", "overlap")) == {"expert": None, "crowd": 2}


def test_a_block_cannot_be_added_to_an_active_study(sign_in, rosa, grief, framework):
    page = address("block-new", grief) + "?dataset=letters"
    assert sign_in(rosa).get(page).url == address("overview", grief)
    assert sign_in(rosa).post(page, block_fields(framework)).url == address("overview", grief)
    assert grief.blocks.count() == 1


def test_blocks_are_moved_and_removed(sign_in, rosa, draft, letters, framework):
    add_block(study=draft, slug="two", title="Two", dataset=letters, frameworks=[framework])
    client = sign_in(rosa)
    assert client.post(address("block-move", draft, "two"), {"to": "up"}).url == address("overview", draft)
    assert list(draft.blocks.values_list("slug", flat=True)) == ["two", "main"]
    remove = address("block-remove", draft, "two")
    wrong = client.post(remove, {"confirm": "Two"})
    assert wrong.status_code == 422
    assert "This is not the short name: two." in wrong.text
    assert client.post(remove, {"confirm": "two"}).url == address("overview", draft)
    assert list(draft.blocks.values_list("slug", flat=True)) == ["main"]


def test_the_page_of_a_block_takes_constant_queries(sign_in, rosa, draft, framework, django_assert_num_queries):
    client = sign_in(rosa)
    make_dataset("small", conversations=2, owner=rosa)
    make_dataset("large", conversations=50, owner=rosa).conversations.update(metadata={"a": "1", "b": "2"})
    with django_assert_num_queries(12):
        client.get(address("block-new", draft) + "?dataset=small")
    for number in range(5):
        make_framework(f"more-{number}")
    with django_assert_num_queries(12):
        client.get(address("block-new", draft) + "?dataset=large")


def test_a_new_block_shows_each_frameworks_scales_and_says_what_was_added(sign_in, rosa, draft, framework):
    make_dataset("notes", conversations=4, owner=rosa)
    client, page = sign_in(rosa), address("block-new", draft) + "?dataset=notes"
    shown = client.get(page).text
    assert "2 scales" in shown
    assert "Scale 1: 1, 2, 3, 4, 5" in " ".join(shown.split())
    told = client.post(page, block_fields(framework, title="Notes", slug="notes"), follow=True)
    assert [str(message) for message in told.context["messages"]] == ["Block added: 4 conversations."]


def test_things_to_mend_are_counted_one_by_one(sign_in, rosa, draft, framework):
    make_dataset("notes", conversations=4, owner=rosa)
    fields = block_fields(framework, title="", take="sample") | {f"framework-{framework.pk}": ""}
    text = sign_in(rosa).post(address("block-new", draft) + "?dataset=notes", fields).text
    summary = text.partition("data-errors>")[2].partition("</div>")[0]
    assert f"{summary.count('<li>')} things to mend" in summary
    assert summary.count("<li>") == 3


def test_an_active_study_without_raters_says_so_and_leads_to_inviting(sign_in, rosa, grief):
    grief.raters.update(user=None)
    text = sign_in(rosa).get(address("overview", grief)).text
    assert "3 items, no rater yet." in text
    assert "still lack ratings" not in text
    assert text.count(address("invite", grief)) > 1


def test_whose_ratings_are_waited_for_is_said(sign_in, rosa, grief):
    text = sign_in(rosa).get(address("overview", grief)).text
    assert "They wait for people who rate here, by kind:" in text
    assert "Ratings that were imported are not counted among them." in text
    assert "no rater yet" not in text


def test_discussion_is_offered_with_its_consequence_and_not_in_a_draft(sign_in, rosa, grief):
    client = sign_in(rosa)
    assert "no longer independent, and it cannot be taken back" in client.get(address("overview", grief)).text
    Study.objects.update(status=StudyStatus.DRAFT)
    assert address("discussion", grief) not in client.get(address("overview", grief)).text


# --- Status -----------------------------------------------------------------------------------------------------------


def test_a_study_is_activated_closed_and_reopened(sign_in, rosa, draft):
    client = sign_in(rosa)
    for name, status in [("activate", "active"), ("draft", "draft"), ("activate", "active"), ("close", "closed")]:
        assert client.post(address(name, draft)).url == address("overview", draft)
        assert Study.objects.get().status == status
    assert client.post(address("reopen", draft)).status_code == 302
    assert Study.objects.get().status == "active"


def test_what_is_missing_is_listed_and_nothing_is_activated(sign_in, rosa, draft):
    draft.blocks.get().groups.all().delete()
    page = address("activate", draft)
    assert "Nobody is asked to rate yet" in sign_in(rosa).get(page).text
    response = sign_in(rosa).post(page)
    assert response.status_code == 422
    assert "Nobody is asked to rate yet" in response.text
    assert Study.objects.get().status == "draft"


@pytest.mark.parametrize(
    ("name", "status"), [("activate", "active"), ("close", "draft"), ("reopen", "active"), ("draft", "closed")]
)
def test_an_act_that_does_not_fit_the_state_is_refused(sign_in, rosa, grief, name, status):
    Study.objects.update(status=status)
    assert sign_in(rosa).get(address(name, grief)).status_code == 200
    assert sign_in(rosa).post(address(name, grief)).status_code == 422
    assert Study.objects.get().status == status


def test_opening_discussion_says_what_it_ends_and_asks_for_the_name(sign_in, rosa, grief):
    client, page = sign_in(rosa), address("discussion", grief)
    text = client.get(page).text
    assert "cannot be taken back" in text
    assert "what is rated from now on is no longer independent" in text
    assert client.post(page, {"to": "open", "confirm": "Grief"}).status_code == 422
    assert not Study.objects.get().discussion_open
    assert client.post(page, {"to": "open", "confirm": "grief"}).url == page
    assert Study.objects.get().discussion_open
    text = client.get(page).text
    assert "Discussion is open" in text
    assert "opened" in text
    client.post(page, {"to": "closed"})
    assert not Study.objects.get().discussion_open


def test_an_owner_who_rates_is_told_that_their_own_blindness_ends(sign_in, rosa, grief):
    page = address("discussion", grief)
    assert "You are one of them" not in sign_in(rosa).get(page).text
    grief.raters.create(name="expert9", kind="expert", user=rosa)
    assert "You are one of them" in sign_in(rosa).get(page).text


# --- Copy and delete --------------------------------------------------------------------------------------------------


def test_a_study_is_copied(sign_in, rosa, grief):
    page = address("copy", grief)
    assert "Grief (copy)" in sign_in(rosa).get(page).text
    response = sign_in(rosa).post(page, {"title": "Grief again", "slug": ""})
    assert response.url == reverse("studies:overview", args=["grief-again"])
    copied = Study.objects.get(slug="grief-again")
    assert (copied.status, Item.objects.filter(block__study=copied).count()) == ("draft", 3)
    again = sign_in(rosa).post(page, {"title": "Grief again", "slug": "grief-again"})
    assert again.status_code == 422
    assert "Another study is called grief-again already" in again.text


def test_a_copy_that_cannot_be_says_why(sign_in, otto, grief):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    response = sign_in(otto).post(address("copy", grief), {"title": "Mine", "slug": "mine"})
    assert response.status_code == 422
    assert "The dataset Letters is not yours to use" in response.text


def test_a_draft_is_deleted_by_its_name(sign_in, rosa, draft):
    client, page = sign_in(rosa), address("delete", draft)
    assert "There are no ratings in it" in client.get(page).text
    assert client.post(page, {"confirm": "Grief"}).status_code == 422
    assert Study.objects.exists()
    assert client.post(page, {"confirm": "grief"}).url == reverse("studies:list")
    assert not Study.objects.exists()


def test_a_study_that_has_begun_cannot_be_deleted(sign_in, rosa, grief):
    page = address("delete", grief)
    assert "never deleted with a study" in sign_in(rosa).get(page).text
    assert sign_in(rosa).post(page, {"confirm": "grief"}).status_code == 422
    assert Study.objects.exists()


# --- What the overview offers -----------------------------------------------------------------------------------------


def test_the_way_back_to_a_draft_is_offered_only_as_long_as_it_is_open(sign_in, rosa, grief):
    overview = reverse("studies:overview", args=["grief"])
    assert address("draft", grief) in sign_in(rosa).get(overview).text
    take(grief)
    assert address("draft", grief) not in sign_in(rosa).get(overview).text


def test_a_step_of_setting_up_leads_to_where_it_is_done(sign_in, rosa, grief):
    Study.objects.update(status=StudyStatus.DRAFT)
    text = sign_in(rosa).get(reverse("studies:overview", args=["grief"])).text
    for place in ("/studies/grief/people/invite/", "/studies/grief/settings/#texts-heading", "#blocks"):
        assert f'<a href="{place}">' in text


def test_a_dataset_leads_to_a_new_study_of_it_and_to_ones_own_drafts(sign_in, rosa, otto, letters, grief, strangers):
    Study.objects.update(status=StudyStatus.DRAFT)
    client = sign_in(rosa)
    page = client.get(reverse("corpus:dataset", args=["letters"]))
    assert f"{reverse('studies:new')}?dataset=letters" in page.text
    assert f"{address('block-new', grief)}?dataset=letters" in page.text
    assert address("block-new", strangers) not in page.text
    assert "of the dataset Letters" in client.get(reverse("studies:new"), {"dataset": "letters"}).text
    made = client.post(f"{reverse('studies:new')}?dataset=letters", {"title": "Again"})
    assert made.url == "/studies/again/blocks/new/?dataset=letters"
    assert client.get(made.url).status_code == 200


def test_a_foreign_dataset_leads_nowhere(sign_in, rosa, strangers):
    made = sign_in(rosa).post(f"{reverse('studies:new')}?dataset=diaries", {"title": "Again"})
    assert made.url == "/studies/again/"


def test_an_active_study_is_no_place_for_a_dataset(sign_in, rosa, letters, grief):
    page = sign_in(rosa).get(reverse("corpus:dataset", args=["letters"]))
    assert "that you are setting up" not in page.text
