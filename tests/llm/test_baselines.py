"""Baselines as raters of a study: asked for, computed, computed again."""

import json

import pytest

from apps.annotation.models import Rating, RatingEvent
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.common.models import AuditEntry, Job, JobState
from apps.common.services.jobs import request_cancel, run_job
from apps.corpus.models import Conversation, Turn
from apps.frameworks.models import Framework
from apps.llm.models import Baseline
from apps.llm.services.baselines import BaselineError, compute_baseline, experts_changed_at, request_baseline
from apps.studies.models import Assignment, AssignmentState, ItemRole, Rater, RaterKind, StudyStatus
from apps.studies.services.exclusions import exclude, revert
from tests.conftest import make_dataset, make_study
from tests.dashboard.agreement_world import add, rate


@pytest.fixture
def rated(grief):
    """Three items on two scales. Experts say 2 most often on the first; nobody has rated the second."""
    rate(grief, {"expert1": [2, 2, 5], "expert2": [2, 3, 5], "expert3": [1, 2, None]})
    return grief


@pytest.fixture
def advised(rosa, db):
    """A study on a scale with a lexical rule (advice) and one without; three conversations."""
    framework = Framework.objects.create(slug="lend-an-ear", name="Lend an Ear", citation="Made up", content_hash="x")
    for position, slug in enumerate(("advice_giving", "silence")):
        dimension = framework.dimensions.create(
            slug=slug, position=position, label=slug, question="?", guideline="g", minimum=1, maximum=5
        )
        for place in range(5):
            dimension.points.create(value=place + 1, position=place)
    dataset = make_dataset("talks", conversations=3, owner=rosa)
    study = make_study("advised", owner=rosa, dataset=dataset, frameworks=[framework])
    say(study, 1, "You should go.")
    return study


def say(study, place: int, text: str) -> None:
    """What the supporter says in the conversation of an item."""
    Turn.objects.filter(conversation=items(study)[place].conversation, role="supporter").update(text=text)


def items(study):
    return list(study.blocks.get().items.filter(role=ItemRole.MAIN).order_by("position"))


def computed(study, rule, by) -> Baseline:
    baseline = request_baseline(study=study, rule=rule, by=by)
    run_job(pk=baseline.job.pk, work=compute_baseline)
    baseline = Baseline.objects.select_related("job", "rater").get(pk=baseline.pk)
    assert baseline.job.state == JobState.DONE, baseline.job.message
    return baseline


def values(study, name, slug="scale_1") -> list[float | None]:
    rows = Rating.objects.filter(rater__study=study, rater__name=name, dimension__slug=slug).order_by("item__position")
    return list(rows.values_list("value", flat=True))


# --- The constant -----------------------------------------------------------------------------------------------------


def test_the_constant_gives_every_main_item_the_experts_most_frequent_point(rated, rosa, letters):
    """Also an item without text, and one that no expert has rated; no repeat."""
    block = rated.blocks.get()
    silent = Conversation.objects.create(dataset=letters, external_id="silent", position=9, content_hash="s")
    block.items.create(conversation=silent, position=9)
    block.items.create(conversation=items(rated)[0].conversation, role=ItemRole.REPEAT, position=10)
    baseline = computed(rated, "constant", rosa)
    assert values(rated, "constant") == [2, 2, 2, 2]
    assert values(rated, "constant", "scale_2") == []
    rater = baseline.rater
    assert (rater.name, rater.kind, rater.is_aggregate) == ("constant", RaterKind.BASELINE, False)
    assert "not a model" in rater.source
    assert set(RatingEvent.objects.filter(rating__rater=rater).values_list("origin", "actor")) == {("model", None)}
    first, second = baseline.details
    assert (first["scale"], first["point"], first["count"], first["total"], first["items"]) == (
        "main/warmth-scales/scale_1",
        2.0,
        4,
        8,
        4,
    )
    assert first["figures"]["kappa"]["value"] == 0
    assert first["figures"]["percent_agreement"]["value"] == pytest.approx(2 / 3)
    assert second["left_out"] == "no_experts"
    assert baseline.job.result == {"ratings": 4, "scales": 1, "scales left out": 1}


def test_drafts_exclusions_aggregates_and_others_say_nothing(rated, rosa):
    add(rated, "crowd", RaterKind.EXPERT, is_aggregate=True)
    add(rated, "gpt")
    rate(rated, {"crowd": [5, 5, 5], "gpt": [4, 4, 4]})
    experts = {rater.name: rater for rater in rated.raters.filter(kind=RaterKind.EXPERT)}
    exclude(rater=experts["expert2"], by=rosa)
    Assignment.objects.create(
        rater=experts["expert3"], item=items(rated)[0], position=0, state=AssignmentState.IN_PROGRESS
    )
    [first, _second] = computed(rated, "constant", rosa).details
    # Left are 2, 2, 5 of the first and 2 of the third.
    assert (first["point"], first["count"], first["total"]) == (2.0, 3, 4)


def test_computed_again_after_experts_changed(rated, rosa):
    before = computed(rated, "constant", rosa)
    again = computed(rated, "constant", rosa)
    assert again.pk == before.pk
    assert again.rater_id == before.rater_id
    assert again.job.pk != before.job.pk
    assert RatingEvent.objects.filter(rating__rater=again.rater).count() == 3
    rate(rated, {"expert1": [4, 4, 4], "expert2": [4, 4, 4]})
    assert values(rated, "constant") == [2, 2, 2]
    computed(rated, "constant", rosa)
    assert values(rated, "constant") == [4, 4, 4]
    assert Rating.objects.filter(rater=again.rater).count() == 3


def test_what_is_no_longer_rated_becomes_cannot_tell_and_comes_back(rated, rosa):
    """Ratings are never deleted; "cannot tell" is no value, and enters no statistic."""
    computed(rated, "constant", rosa)
    exclusions = [exclude(rater=rater, by=rosa) for rater in rated.raters.filter(kind=RaterKind.EXPERT)]
    baseline = computed(rated, "constant", rosa)
    assert values(rated, "constant") == [None, None, None]
    assert set(baseline.rater.ratings.values_list("cannot_tell", "comment")) == {
        (True, "The rule no longer rates this.")
    }
    assert {row["left_out"] for row in baseline.details} == {"no_experts"}
    assert "No expert has rated" in baseline.job.message
    assert baseline.job.result["ratings taken back"] == 3
    for one in exclusions:
        revert(exclusion=one, by=rosa)
    baseline = computed(rated, "constant", rosa)
    assert values(rated, "constant") == [2, 2, 2]
    assert set(baseline.rater.ratings.values_list("cannot_tell", "comment")) == {(False, "")}


def test_an_attempt_that_is_run_again_stores_nothing_twice(rated, rosa):
    baseline = request_baseline(study=rated, rule="constant", by=rosa)
    for _ in range(2):
        run_job(pk=baseline.job.pk, work=compute_baseline)
        Job.objects.filter(pk=baseline.job.pk).update(state=JobState.QUEUED)
    assert Rating.objects.filter(rater=baseline.rater).count() == 3
    assert RatingEvent.objects.filter(rating__rater=baseline.rater).count() == 3


# --- The lexical baseline ---------------------------------------------------------------------------------------------


def test_the_lexical_baseline_rates_by_rule_and_lists_what_it_cannot_rate(advised, rosa, db):
    talks = [item.conversation for item in items(advised)]
    talks[2].turns.all().delete()
    block = advised.blocks.get()
    for place, (language, role) in enumerate([("de", "supporter"), ("", "other"), ("en-GB", "supporter")], start=3):
        talk = Conversation.objects.create(
            dataset=block.dataset, external_id=f"x{place}", position=place, content_hash=f"x{place}", language=language
        )
        Turn.objects.create(conversation=talk, index=0, role=role, text="You should go.")
        block.items.create(conversation=talk, position=place)
    baseline = computed(advised, "lexical", rosa)
    assert values(advised, "lexical", "advice_giving") == [1, 5, 5]
    assert values(advised, "lexical", "silence") == []
    first, second = baseline.details
    assert (first["cue"], first["full"], first["items"]) == ("advice", 1, 3)
    assert first["unrated"] == {"no_text": 1, "other_language": 1, "no_supporter": 1}
    assert "figures" not in first
    assert second["left_out"] == "no_rule"
    remarks = Rating.objects.filter(rater=baseline.rater).order_by("item__position").values_list("comment", flat=True)
    assert remarks[1] == "Cues: 1. Turns of the supporter: 1."


def test_the_lexical_baseline_is_compared_where_experts_rated(advised, rosa):
    rate(advised, {"expert1": [1, 4, 1]}, dimension="advice_giving")
    [first, _second] = computed(advised, "lexical", rosa).details
    assert first["figures"]["percent_agreement"]["value"] == pytest.approx(2 / 3)
    assert first["figures"]["guess_percent_agreement"]["value"] == pytest.approx(2 / 3)
    assert first["figures"]["kappa"]["value"] > 0.5
    json.dumps(first, allow_nan=False)


def test_an_item_whose_text_went_keeps_no_stale_rating(advised, rosa):
    computed(advised, "lexical", rosa)
    say(advised, 1, "...")
    computed(advised, "lexical", rosa)
    assert values(advised, "lexical", "advice_giving") == [1, None, 1]


def test_a_nominal_scale_has_no_rule(advised, rosa):
    advised.blocks.get().frameworks.get().dimensions.update(level="nominal")
    baseline = computed(advised, "lexical", rosa)
    assert {row["left_out"] for row in baseline.details} == {"no_rule"}


def test_a_study_without_any_text_is_said_to_have_none(advised, rosa):
    Turn.objects.all().delete()
    [first, _second] = computed(advised, "lexical", rosa).details
    assert first["left_out"] == "no_items"
    assert first["unrated"] == {"no_text": 3}


# --- Asking for one ---------------------------------------------------------------------------------------------------


def test_one_under_way_is_that_one(rated, rosa):
    first = request_baseline(study=rated, rule="constant", by=rosa)
    assert request_baseline(study=rated, rule="constant", by=rosa).job == first.job
    assert request_baseline(study=rated, rule="lexical", by=rosa).job != first.job
    request_cancel(job=first.job, by=rosa)
    assert request_baseline(study=rated, rule="constant", by=rosa).job != first.job
    assert AuditEntry.objects.filter(action="baseline.request").count() == 3
    assert list(rated.raters.filter(kind=RaterKind.BASELINE).values_list("name", flat=True)) == ["constant", "lexical"]


def test_a_draft_and_an_unknown_rule_are_refused(grief, rosa):
    with pytest.raises(BaselineError, match="expected one of constant, lexical"):
        request_baseline(study=grief, rule="oracle", by=rosa)
    grief.status = StudyStatus.DRAFT
    grief.save()
    with pytest.raises(BaselineError, match="draft"):
        request_baseline(study=grief, rule="constant", by=rosa)
    assert not Baseline.objects.exists()
    assert not Job.objects.exists()


def test_a_closed_study_may_have_one(rated, rosa):
    rated.status = StudyStatus.CLOSED
    rated.save()
    computed(rated, "constant", rosa)
    assert values(rated, "constant") == [2, 2, 2]


def test_the_name_of_another_rater_is_not_taken(rated, rosa):
    Rater.objects.create(study=rated, name="lexical", kind=RaterKind.LLM)
    with pytest.raises(BaselineError, match="has a rater lexical already, which is llm, not baseline"):
        request_baseline(study=rated, rule="lexical", by=rosa)
    imported = Rater.objects.create(study=rated, name="constant", kind=RaterKind.BASELINE)
    scale = rated.blocks.get().frameworks.get().dimensions.first()
    record_ratings(entries=[RatingEntry(items(rated)[0].pk, imported.pk, scale.pk, 3.0)], origin=Origin.IMPORT)
    with pytest.raises(BaselineError, match="not computed here"):
        request_baseline(study=rated, rule="constant", by=rosa)
    assert not Job.objects.exists()


@pytest.mark.parametrize("change", ["draft", "left", "inactive"])
def test_what_changed_meanwhile_stores_nothing(rated, rosa, change):
    baseline = request_baseline(study=rated, rule="constant", by=rosa)
    if change == "draft":
        rated.status = StudyStatus.DRAFT
        rated.save()
    elif change == "left":
        rated.memberships.filter(user=rosa).delete()
    else:
        rosa.is_active = False
        rosa.save()
    run_job(pk=baseline.job.pk, work=compute_baseline)
    baseline.refresh_from_db()
    assert baseline.job.state == JobState.FAILED
    assert "Nothing was stored" in baseline.job.message
    assert baseline.computed_at is None
    assert not baseline.rater.ratings.exists()


def test_experts_change_by_ratings_by_work_handed_in_and_by_exclusions(rated, rosa):
    def newer() -> bool:
        nonlocal before
        changed, before = experts_changed_at(rated) != before, experts_changed_at(rated)
        return changed

    before = None
    assert newer()
    add(rated, "gpt")
    rate(rated, {"gpt": [1, 2, 3]})
    assert not newer()
    rate(rated, {"expert1": [3, None, None]})
    assert newer()
    expert = rated.raters.get(name="expert1")
    one = exclude(rater=expert, by=rosa)
    assert newer()
    revert(exclusion=one, by=rosa)
    assert newer()


def test_a_study_without_ratings_has_not_changed(grief):
    assert experts_changed_at(grief) is None
