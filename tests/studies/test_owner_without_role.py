"""An owner of a study who is no researcher of the site runs it all the same; they have no datasets of their own."""

import pytest
from django.urls import reverse

from apps.studies.models import Assignment, BlockFramework, MemberRole, Membership, Study, StudyStatus
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db

PAGES = [
    "overview exclusions settings delete block-new activate draft close reopen discussion raters skipped people invite",
    "rating-join invitations",
]


@pytest.fixture
def draft(grief, otto):
    """Otto, an annotator of the site, owns `grief`, a draft of Rosa's dataset."""
    otto.role = "annotator"
    otto.save()
    Membership.objects.create(study=grief, user=otto, role=MemberRole.OWNER)
    Study.objects.filter(pk=grief.pk).update(status=StudyStatus.DRAFT)
    grief.refresh_from_db()
    return grief


@pytest.mark.parametrize("name", " ".join(PAGES).split())
def test_every_page_of_the_study_opens(sign_in, draft, otto, name):
    assert sign_in(otto).get(reverse(f"studies:{name}", args=["grief"])).status_code == 200


@pytest.mark.parametrize("status", StudyStatus.values)
def test_no_page_of_the_study_leads_where_they_may_not_go(sign_in, draft, otto, status):
    Study.objects.update(status=status)
    if status != StudyStatus.DRAFT:
        item = draft.blocks.get().items.first()
        Assignment.objects.create(rater=draft.raters.first(), item=item, position=0)
    client = sign_in(otto)
    for name in " ".join(PAGES).split():
        page = client.get(reverse(f"studies:{name}", args=["grief"])).text
        assert not [link for link in ("/datasets/", "/studies/new/", "/grief/copy/") if f'href="{link}' in page], name


def test_they_lay_out_a_block_of_a_dataset_the_study_uses_and_of_no_other(sign_in, draft, otto, framework):
    make_dataset("private")
    client = sign_in(otto)
    page = client.get("/studies/grief/blocks/new/").text
    assert ("Letters" in page, "Private" in page) == (True, False)
    plan = {"title": "Again", "take": "all", f"framework-{framework.pk}": "on", f"place-{framework.pk}": "1"}
    plan |= {f"who-{kind}": "nobody" for kind in ("crowd", "self", "reference")} | {"who-expert": "every"}
    assert client.post("/studies/grief/blocks/new/?dataset=private", plan).status_code == 404
    assert client.post("/studies/grief/blocks/new/?dataset=letters", plan).status_code == 302
    assert draft.blocks.get(slug="again").dataset.slug == "letters"
    assert client.get("/studies/grief/blocks/again/?dataset=private").status_code == 404


def test_without_any_dataset_the_page_says_who_can_bring_one(sign_in, draft, otto):
    BlockFramework.objects.all().delete()
    for block in draft.blocks.all():
        block.items.all().delete()
        block.groups.all().delete()
        block.delete()
    page = sign_in(otto).get("/studies/grief/blocks/new/").text
    assert "Invite one as an owner" in page
    assert "/datasets/" not in page


def test_they_take_the_study_from_draft_to_closed(sign_in, draft, otto):
    client = sign_in(otto)
    for act, status in (("activate", "active"), ("close", "closed"), ("reopen", "active")):
        assert client.post(f"/studies/grief/{act}/").status_code == 302
        draft.refresh_from_db()
        assert draft.status == status


def test_a_copy_would_be_a_study_of_their_own_and_is_for_researchers(sign_in, draft, otto):
    assert sign_in(otto).get("/studies/grief/copy/").status_code == 403
