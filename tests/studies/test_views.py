"""The pages of a study: who sees what."""

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.studies.models import ExclusionReason, Item, MemberRole, Membership, Rater, Study
from apps.studies.services.design import add_block
from apps.studies.services.exclusions import exclude, revert
from tests.conftest import make_dataset, make_framework

PAGES = ["studies:overview", "studies:exclusions"]


@pytest.fixture
def rated(grief, framework):
    """`grief` with a value 4 of every rater for every item on its first scale."""
    dimension = framework.dimensions.first()
    record_ratings(
        entries=[
            RatingEntry(item.pk, rater.pk, dimension.pk, 4)
            for item in Item.objects.filter(block__study=grief)
            for rater in grief.raters.all()
        ],
        origin=Origin.IMPORT,
    )
    return grief


def page(client, name, study, **query):
    return client.get(reverse(name, args=[study.slug]), query)


# --- The list ---------------------------------------------------------------------------------------------------------


def test_the_list_holds_the_studies_one_is_a_member_of(sign_in, rosa, grief, strangers):
    text = sign_in(rosa).get(reverse("studies:list")).text
    assert grief.title in text
    assert strangers.title not in text


def test_an_admin_sees_every_study(sign_in, ada, grief, strangers):
    text = sign_in(ada).get(reverse("studies:list")).text
    assert grief.title in text
    assert strangers.title in text


def test_an_empty_list_says_what_comes_next(sign_in, otto, emil):
    new = f'href="{reverse("studies:new")}"'
    for words in (new, "import_kumar2026"):
        assert words in sign_in(otto).get(reverse("studies:list")).text
        assert words not in sign_in(emil).get(reverse("studies:list")).text


def test_the_list_tells_states_and_sizes_to_those_who_work_with_a_study(sign_in, rosa, emil, grief):
    text = sign_in(rosa).get(reverse("studies:list")).text
    for words in ("Active", "3 items", "3 raters"):
        assert words in text
    text = sign_in(emil).get(reverse("studies:list")).text
    assert "you rate in it" in text
    assert "3 raters" not in text


def test_the_list_comes_in_pages_with_a_constant_number_of_queries(sign_in, rosa, grief, django_assert_num_queries):
    client, address = sign_in(rosa), reverse("studies:list")
    with django_assert_num_queries(5):
        client.get(address)
    for number in range(30):
        study = Study.objects.create(slug=f"s{number}", title=f"Study {number:02d}")
        Membership.objects.create(study=study, user=rosa, role=MemberRole.OWNER)
    with django_assert_num_queries(5):
        text = client.get(address).text
    assert "Page 1 of 2" in text
    assert client.get(address, {"page": "2"}).text != text


# --- The overview -----------------------------------------------------------------------------------------------------


def test_the_overview_shows_the_design_and_the_number_of_ratings(sign_in, rosa, rated):
    text = page(sign_in(rosa), "studies:overview", rated).text
    for words in ("Letters", "Warmth Scales (version 1)", "<code", "every rater", "agreement --study grief"):
        assert words in text
    kinds = sign_in(rosa).get(reverse("studies:overview", args=["grief"])).context["kinds"]
    assert [tuple(row) for row in kinds] == [("expert", 3, 9)]


def test_a_dataset_one_may_not_see_is_named_without_a_link(sign_in, rosa, otto, grief, letters):
    Membership.objects.create(study=grief, user=otto, role=MemberRole.RESEARCHER)
    link = f'href="{reverse("corpus:dataset", args=[letters.slug])}"'
    assert link in page(sign_in(rosa), "studies:overview", grief).text
    text = page(sign_in(otto), "studies:overview", grief).text
    assert letters.name in text
    assert link not in text


def test_who_belongs_to_a_study_and_does_not_rate_reads_its_instructions(sign_in, emil, rated):
    Study.objects.update(instructions="Read it all.\nThen <b>rate</b>.")
    rated.raters.filter(user=emil).update(left_at=timezone.now())
    response = page(sign_in(emil), "studies:overview", rated)
    assert "Read it all.<br>\nThen &lt;b&gt;rate&lt;/b&gt;." in response.text


@pytest.mark.parametrize("status", ["draft", "active", "closed"])
def test_a_rater_is_led_to_where_one_rates_and_sees_no_trace_of_others(sign_in, emil, rated, status):
    """The instructions stand there, and only there."""
    Study.objects.update(instructions="Read it all.", status=status)
    response = page(sign_in(emil), "studies:overview", rated)
    assert f'href="{reverse("rating:start", args=["grief"])}"' in response.text
    assert "Read it all." not in response.text
    assert "expert2" not in response.text
    assert "agreement" not in response.text
    assert response.context.keys() & {"kinds", "work", "blocks", "n_exclusions"} == set()


def test_the_overview_takes_a_constant_number_of_queries(sign_in, rosa, rated, django_assert_num_queries):
    client = sign_in(rosa)
    with django_assert_num_queries(25):
        page(client, "studies:overview", rated)
    Rater.objects.bulk_create(Rater(study=rated, name=f"crowd{n:03d}", kind="crowd") for n in range(1, 80))
    dataset = make_dataset("diaries", conversations=12)
    for number in range(4):
        add_block(
            study=rated,
            slug=f"b{number}",
            title=f"B{number}",
            dataset=dataset,
            frameworks=[make_framework(f"scales-{number}")],
            groups={"crowd": 2, "expert": None},
        )
    with django_assert_num_queries(25):
        page(client, "studies:overview", rated)


def test_an_empty_study_teaches_the_next_step(sign_in, rosa, grief):
    study = Study.objects.create(slug="bare", title="Bare")
    Membership.objects.create(study=study, user=rosa, role=MemberRole.OWNER)
    text = page(sign_in(rosa), "studies:overview", study).text
    assert "Nothing to rate yet" in text
    assert f'href="{reverse("studies:block-new", args=["bare"])}"' in text


# --- Exclusions -------------------------------------------------------------------------------------------------------


def test_exclusions_in_force_are_listed_and_those_taken_back_are_not(sign_in, rosa, grief):
    kept = exclude(
        rater=grief.raters.get(name="expert2"),
        item=Item.objects.filter(block__study=grief).first(),
        explanation="was <em>asleep</em>",
        by=rosa,
    )
    revert(exclusion=exclude(rater=grief.raters.get(name="expert3"), by=rosa), by=rosa)
    text = page(sign_in(rosa), "studies:exclusions", grief).text
    assert kept.rater.name in text
    assert "letters-001" in text
    assert "was &lt;em&gt;asleep&lt;/em&gt;" in text
    assert "expert3" not in text
    assert "1 exclusion in force" in page(sign_in(rosa), "studies:overview", grief).text


def test_exclusions_take_a_constant_number_of_queries(sign_in, rosa, grief, django_assert_max_num_queries):
    client = sign_in(rosa)
    raters = list(grief.raters.all())
    exclude(rater=raters[0], by=rosa)
    with django_assert_max_num_queries(12) as few:
        page(client, "studies:exclusions", grief)
    for rater in raters[1:]:
        for item in Item.objects.filter(block__study=grief):
            exclude(rater=rater, item=item, by=rosa)
    with django_assert_max_num_queries(len(few)):
        page(client, "studies:exclusions", grief)


def test_without_exclusions_the_page_says_so(sign_in, rosa, grief):
    assert "No exclusions are in force" in page(sign_in(rosa), "studies:exclusions", grief).text


# --- The ladder -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_nobody_is_sent_to_sign_in(sign_in, grief, name):
    response = page(sign_in(None), name, grief)
    assert response.status_code == 302
    assert response.url.startswith(reverse("accounts:sign-in"))


def test_the_list_needs_somebody(sign_in, db):
    assert sign_in(None).get(reverse("studies:list")).status_code == 302


@pytest.mark.parametrize("name", PAGES)
def test_the_study_of_others_is_not_there(sign_in, rosa, otto, strangers, name):
    assert page(sign_in(rosa), name, strangers).status_code == 404
    assert page(sign_in(otto), name, strangers).status_code == 200


def test_exclusions_are_not_for_raters(sign_in, emil, grief):
    assert page(sign_in(emil), "studies:exclusions", grief).status_code == 404


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_pages_only_show(sign_in, rosa, grief, name, method):
    client = sign_in(rosa)
    assert getattr(client, method)(reverse(name, args=[grief.slug])).status_code == 405


@pytest.mark.parametrize("rates", [True, False])
def test_why_ratings_are_left_out_is_not_told_to_whoever_rates(sign_in, grief, rosa, rates):
    """A reason may say how somebody rated."""
    exclude(rater=grief.raters.get(name="expert2"), explanation="gave 5 everywhere", by=None)
    if rates:
        grief.raters.filter(name="expert3").update(user=rosa)
    page = sign_in(rosa).get("/studies/grief/exclusions/").text
    assert "expert2" in page
    assert ("gave 5 everywhere" in page, "Decided by hand" in page, "not shown" in page) == (
        not rates,
        not rates,
        rates,
    )


def exclude_examples(study, n=2):
    model = study.raters.create(name="model1", kind="llm")
    items = Item.objects.filter(block__study=study).order_by("pk")
    for item in items[:n]:
        exclude(rater=model, item=item, reason=ExclusionReason.LEAKAGE, explanation="shown in Plain v1", by=None)
    return items


def test_who_rates_is_not_told_which_conversations_prompts_show(sign_in, rosa, grief):
    items = exclude_examples(grief)
    exclude(rater=grief.raters.get(name="expert2"), item=items[2], by=rosa)
    other = grief.raters.create(name="model2", kind="llm")
    exclude(rater=other, item=items[0], reason=ExclusionReason.LEAKAGE, by=None)
    names = [item.conversation.external_id for item in items]
    text = page(sign_in(rosa), "studies:exclusions", grief).text
    assert all(name in text for name in names)
    assert text.count("shown in Plain v1") == 2
    assert "as examples" not in text
    rater = Rater.objects.create(study=grief, name="owner1", kind="expert", user=rosa)
    text = page(sign_in(rosa), "studies:exclusions", grief).text
    assert [name in text for name in names] == [False, False, True]
    assert "model1" not in text
    assert "shown in Plain v1" not in text
    assert "2 conversations are left out for models whose prompts show them as examples." in text
    # Open discussion is not enough as long as models are sealed.
    Study.objects.update(discussion_open=True)
    assert "model1" not in page(sign_in(rosa), "studies:exclusions", grief).text
    Rater.objects.filter(pk=rater.pk).update(left_at=timezone.now())
    assert "model1" in page(sign_in(rosa), "studies:exclusions", grief).text


def test_nothing_else_left_out_is_no_empty_page(sign_in, rosa, grief):
    exclude_examples(grief, n=1)
    Rater.objects.create(study=grief, name="owner1", kind="expert", user=rosa)
    text = page(sign_in(rosa), "studies:exclusions", grief).text
    assert "1 conversation is left out for models whose prompts show it as an example." in text
    assert "<table" not in text
    assert "No exclusions are in force" not in text
