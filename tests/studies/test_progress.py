"""How far rating is: by rater, by block, in counts that hold no value."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.llm.models import Baseline
from apps.studies.models import Assignment, Item, MemberRole, Membership, Rater
from apps.studies.services.coverage import coverage_of, imported_coverage_of
from apps.studies.services.design import add_block
from apps.studies.services.exclusions import exclude
from apps.studies.services.progress import progress_of_raters
from tests.conftest import make_dataset, make_user
from tests.llm.worlds import answer_all, make_run


@pytest.fixture
def shared(grief, framework):
    """`grief` with a second block whose five items two crowd workers each rate."""
    add_block(
        study=grief,
        slug="shared",
        title="Shared",
        dataset=make_dataset("notes", conversations=5),
        frameworks=[framework],
        groups={"crowd": 2},
    )
    for number in range(1, 4):
        worker = make_user(f"w{number}@example.org", "annotator", f"Worker {number}")
        Rater.objects.create(study=grief, name=f"crowd{number:03d}", kind="crowd", user=worker)
    return grief


def give(study, rater, slug, *states, **more):
    """The rater's first items of the block, in these states."""
    rater = study.raters.get(name=rater)
    items = Item.objects.filter(block__study=study, block__slug=slug)
    start = rater.assignments.count()
    for place, (item, state) in enumerate(zip(items, states, strict=False), start=start):
        if state:
            Assignment.objects.create(rater=rater, item=item, position=place, state=state, **more)


def imported(study, name, n_items, **more):
    rater = Rater.objects.create(study=study, name=name, **({"kind": "llm"} | more))
    dimension = study.blocks.get(slug="main").frameworks.get().dimensions.first()
    record_ratings(
        entries=[
            RatingEntry(item.pk, rater.pk, dimension.pk, 5)
            for item in Item.objects.filter(block__study=study, block__slug="main")[:n_items]
        ],
        origin=Origin.IMPORT,
    )
    return rater


def group(study, slug, kind):
    return next(one for one in coverage_of(study=study) if (one.block.slug, one.kind) == (slug, kind))


def row(study, name):
    return progress_of_raters(study=study, raters=[study.raters.get(name=name)])[0]


# --- Coverage ---------------------------------------------------------------------------------------------------------


def test_nothing_waits_for_a_rater_who_is_deactivated(shared):
    give(shared, "expert1", "main", "submitted", "submitted", "submitted")
    vera = make_user("vera@example.org", "annotator")
    shared.raters.filter(name="expert2").update(user=vera)
    assert (group(shared, "main", "expert").n_present, group(shared, "main", "expert").n_lacking) == (2, 3)
    vera.is_active = False
    vera.save()
    assert (group(shared, "main", "expert").n_present, group(shared, "main", "expert").n_lacking) == (1, 0)


def test_an_item_is_complete_with_as_many_raters_as_were_asked_for(shared):
    give(shared, "crowd001", "shared", "submitted", "submitted", "submitted", "in_progress", "skipped")
    give(shared, "crowd002", "shared", "submitted", "lapsed", "surplus", "assigned")
    found = group(shared, "shared", "crowd")
    assert (found.n_complete, found.n_in_hand, found.n_lacking, found.n_asked) == (1, 2, 4, 2)
    assert found.distribution == [(0, 2), (1, 2), (2, 1)]


def test_where_everybody_rates_everything_an_item_waits_for_all_who_are_there(shared, emil, ada):
    give(shared, "expert1", "main", "submitted", "submitted", "")
    assert (group(shared, "main", "expert").n_present, group(shared, "main", "expert").n_complete) == (1, 2)
    second = shared.raters.get(name="expert2")
    Rater.objects.filter(pk=second.pk).update(user=ada)
    give(shared, "expert2", "main", "submitted")
    assert (group(shared, "main", "expert").n_asked, group(shared, "main", "expert").n_complete) == (2, 1)
    Rater.objects.filter(pk=second.pk).update(left_at=timezone.now())
    found = group(shared, "main", "expert")
    assert (found.n_asked, found.n_complete) == (1, 2)
    assert found.distribution == [(0, 1), (1, 1), (2, 1)]


def test_a_group_without_raters_asks_for_nothing_and_lacks_nothing(shared):
    shared.raters.filter(kind="expert").update(user=None)
    found = group(shared, "main", "expert")
    assert (found.n_asked, found.n_complete, found.n_lacking) == (0, 0, 0)
    assert found.distribution == [(0, 3)]


@pytest.mark.parametrize("reopens", [True, False])
def test_an_excluded_raters_places_count_as_the_study_says(shared, rosa, reopens):
    shared.exclusion_reopens_slots = reopens
    shared.save()
    give(shared, "crowd001", "shared", "submitted")
    give(shared, "crowd002", "shared", "submitted")
    exclude(rater=shared.raters.get(name="crowd001"), by=rosa)
    assert group(shared, "shared", "crowd").n_complete == (0 if reopens else 1)


def test_imported_raters_are_counted_apart(shared):
    imported(shared, "gpt", 2)
    imported(shared, "other", 1)
    imported(shared, "demo", 3, kind="expert", is_simulated=True)
    found = {(one.block.slug, one.kind): one.distribution for one in imported_coverage_of(study=shared)}
    assert found == {("main", "llm"): [(0, 1), (1, 1), (2, 1)], ("main", "expert"): [(1, 3)]}
    assert group(shared, "main", "expert").distribution == [(0, 3)]


# --- Raters -----------------------------------------------------------------------------------------------------------


def test_a_raters_items_are_counted_by_what_became_of_them(shared):
    seen = timezone.now() - timedelta(hours=2)
    give(shared, "expert1", "main", "submitted", "surplus", "skipped", seen_at=seen, is_flagged=True)
    found = row(shared, "expert1")
    assert (found.all.n_done, found.all.n_skipped, found.all.n_open, found.all.n_flagged) == (2, 1, 0, 3)
    assert found.all.n_asked == 3
    assert found.seen_at == seen
    assert [(part.block.slug, part.is_asked) for part in found.blocks] == [("main", True), ("shared", False)]


def test_who_shares_items_out_has_no_number_to_reach(shared):
    give(shared, "crowd001", "shared", "submitted", "assigned")
    found = row(shared, "crowd001")
    assert (found.all.n_asked, found.all.n_done, found.all.n_open) == (None, 1, 1)
    assert found.seen_at is None


def test_an_imported_rater_has_done_what_it_has_ratings_of(shared):
    imported(shared, "gpt", 2)
    found = row(shared, "gpt")
    assert not found.is_present
    assert (found.all.n_done, found.all.n_asked) == (2, 3)
    assert [part.is_asked for part in found.blocks] == [True, False]


def test_exclusions_are_told(shared, rosa):
    rater = shared.raters.get(name="expert1")
    exclude(rater=rater, item=Item.objects.filter(block__study=shared).first(), by=rosa)
    assert (row(shared, "expert1").is_excluded, row(shared, "expert1").n_excluded_items) == (False, 1)
    exclude(rater=rater, by=rosa)
    assert row(shared, "expert1").is_excluded


# --- The pages --------------------------------------------------------------------------------------------------------


def page(client, study, name="raters", **query):
    return client.get(reverse(f"studies:{name}", args=[study.slug]), query)


def test_owners_see_who_stands_behind_a_pseudonym_and_researchers_do_not(sign_in, rosa, otto, shared):
    text = page(sign_in(rosa), shared).text
    assert "crowd001" in text
    assert "Worker 1" in text
    Membership.objects.create(study=shared, user=otto, role=MemberRole.RESEARCHER)
    text = page(sign_in(otto), shared).text
    assert "crowd001" in text
    assert "Worker 1" not in text
    assert "w1@example.org" not in text


def test_the_page_says_in_words_how_many_raters_items_have(sign_in, rosa, shared):
    give(shared, "crowd001", "shared", "submitted", "submitted", "in_progress")
    imported(shared, "gpt", 2)
    imported(shared, "demo", 3, kind="expert", is_simulated=True)
    text = " ".join(page(sign_in(rosa), shared).text.split())
    told = "3 items have none, 2 items have 1 rater"
    for words in (told, "0 of 5", "1 in a rater's hands", "simulated", "imported", "2 of 3"):
        assert words in text


def test_no_value_is_on_the_page_not_even_for_a_blind_owner(sign_in, rosa, shared):
    rater = imported(shared, "gpt", 3)
    rater.ratings.update(value=4.4375, comment="so warm")
    Rater.objects.create(study=shared, name="expert9", kind="expert", user=rosa)
    for name in ("raters", "skipped"):
        text = page(sign_in(rosa), shared, name).text
        assert "4.4375" not in text
        assert "so warm" not in text


def test_refreshing_gives_the_piece(sign_in, rosa, shared):
    whole = page(sign_in(rosa), shared).text
    piece = sign_in(rosa).get(reverse("studies:raters", args=["grief"]), headers={"HX-Request": "true"}).text
    assert "<html" in whole
    assert "<html" not in piece
    assert piece.strip().startswith('<div id="progress">')


def test_models_asked_and_baselines_computed_here_are_not_said_to_be_imported(sign_in, rosa, shared):
    n_before = page(sign_in(rosa), shared).text.count("imported<")
    answer_all(make_run(shared, name="judge"))
    constant = imported(shared, "rule", 2, kind="baseline")
    Baseline.objects.create(study=shared, rater=constant, rule="constant")
    text = page(sign_in(rosa), shared).text
    assert '<span class="tag">asked here</span>' in text
    assert '<span class="tag">computed here</span>' in text
    assert text.count("imported<") == n_before
    imported(shared, "gpt", 1)
    text = page(sign_in(rosa), shared).text
    assert "asked here, imported<" in text
    assert text.count("imported<") == n_before + 2
    found = {(row.block.slug, row.kind): row for row in imported_coverage_of(study=shared)}
    assert (found["main", "llm"].is_made_here, found["main", "llm"].is_imported) == (True, True)
    assert (found["main", "baseline"].is_made_here, found["main", "baseline"].is_imported) == (True, False)


def test_raters_come_in_pages_with_a_constant_number_of_queries(sign_in, rosa, shared, django_assert_num_queries):
    client = sign_in(rosa)
    give(shared, "crowd001", "shared", "submitted")
    imported(shared, "gpt", 1)
    with django_assert_num_queries(26):
        page(client, shared)
    for number in range(10, 50):
        imported(shared, f"model{number}", 3)
    give(shared, "crowd002", "shared", "submitted", "skipped", "assigned")
    give(shared, "crowd003", "shared", "submitted", "skipped", "assigned")
    with django_assert_num_queries(26):
        text = page(client, shared).text
    assert "Page 1 of 2" in text
    assert "model49" in page(client, shared, page="2").text


def test_skips_are_listed_with_their_reasons_as_text(sign_in, rosa, shared, django_assert_num_queries):
    give(shared, "crowd001", "shared", "skipped", skip_reason="<script>1</script> cut off")
    text = page(sign_in(rosa), shared, "skipped").text
    assert "&lt;script&gt;1&lt;/script&gt; cut off" in text
    assert "notes-001" in text
    assert "1 skipped item, with the reason" in page(sign_in(rosa), shared).text
    client = sign_in(rosa)
    with django_assert_num_queries(6):
        page(client, shared, "skipped")
    give(shared, "crowd002", "shared", "skipped", "skipped", "skipped", skip_reason="no")
    with django_assert_num_queries(6):
        page(client, shared, "skipped")


def test_empty_pages_teach(sign_in, rosa, grief):
    grief.raters.all().delete()
    grief.blocks.get().groups.all().delete()
    text = page(sign_in(rosa), grief).text
    assert "Nobody is asked to rate yet" in text
    assert "No raters yet" in text
    assert "Nothing is skipped" in page(sign_in(rosa), grief, "skipped").text
