import math
from itertools import cycle

import numpy as np
import pytest

from apps.common.models import Job, JobState
from apps.common.services.jobs import run_job
from apps.corpus.models import Turn
from apps.frameworks.models import Dimension
from apps.llm.bias import Figure
from apps.llm.faults import Fault
from apps.llm.models import BiasCheck, Call, CallAnswer, CallState, Run
from apps.llm.services.baselines import experts_changed_at
from apps.llm.services.bias import FORMAT, BiasError, CheckResults, ResultsError, check_bias, request_checks
from apps.llm.services.bias_answers import RunAnswers, answers_of
from apps.llm.services.bias_state import check_state, latest_results
from apps.llm.services.planning import PlanError, create_reversed_run
from apps.llm.templates import Use
from apps.studies.models import ExclusionReason, Item, ItemRole, Study
from apps.studies.services.exclusions import exclude, revert
from tests.conftest import make_dataset, make_study
from tests.dashboard.agreement_world import rate
from tests.llm.worlds import answer_all, make_endpoint, make_run

# Of twelve items in their order.
SCORES = (1, 2, 1, 2, 3, 2, 3, 4, 4, 5, 4, 5)
EXPERTS = (2, 3, 2, 3, 3, 2, 3, 4, 3, 3, 4, 3)


@pytest.fixture
def study(rosa, framework) -> Study:
    """Twelve items, whose supporter says 10, 20, 30 ... words; two experts and a model may rate."""
    letters = make_dataset("losses", conversations=12, owner=rosa)
    study = make_study("losses", owner=rosa, dataset=letters, frameworks=[framework], experts=2)
    for number, item in enumerate(items_of(study), start=1):
        Turn.objects.filter(conversation=item.conversation, role="supporter").update(text="word " * 10 * number)
    return study


def items_of(study: Study) -> list[Item]:
    return list(Item.objects.filter(block__study=study, role=ItemRole.MAIN).order_by("position"))


def by_place(study: Study, values=SCORES, shift=0):
    """A function of a call and a dimension: the item's score in its order."""
    places = {item.pk: place for place, item in enumerate(items_of(study))}
    return lambda call, dimension: float(min(5, values[places[call.item_id]] + shift))


def answered(study: Study, value=None, **options) -> Run:
    run = make_run(study, **options)
    answer_all(run, value or by_place(study), rate=False)
    return run


def reversed_of(run: Run, value, items=None) -> Run:
    again = make_run(run.study, model_rater=run.model_rater, items=items, checks=run)
    answer_all(again, value)
    return again


def scale(found: RunAnswers, slug: str = "scale_1"):
    return next(one for one in found.scales if one.dimension == slug)


def test_answers_stand_item_by_item(study: Study) -> None:
    run = answered(study)
    reversed_of(run, by_place(study, shift=1), items_of(study)[:4])
    rate(study, {"expert1": EXPERTS, "expert2": [5] * 12})
    found = answers_of(run)
    assert [one.dimension for one in found.scales] == ["scale_1", "scale_2"]
    assert found.labels[0] == ("Warmth Scales", "Scale 1")
    assert (found.n_items, found.n_excluded, found.is_excluded) == (12, 0, False)
    one = scale(found)
    assert one.scores.tolist() == list(SCORES)
    assert one.original.tolist()[:4] == list(SCORES[:4])
    assert one.reversed.tolist()[:4] == [2, 3, 2, 3]
    assert all(math.isnan(value) for value in one.reversed[4:])
    assert one.words.tolist() == [10.0 * number for number in range(1, 13)]
    # Of two the lower.
    assert one.experts.tolist() == list(EXPERTS)
    assert all(math.isnan(value) for value in scale(found, "scale_2").experts)


def test_a_score_is_that_of_all_draws_and_is_asked_again_once(study: Study) -> None:
    draws = cycle([1.0, 4.0, 5.0])
    run = answered(study, lambda call, dimension: next(draws), samples=3)
    first = items_of(study)[0]
    again = make_run(study, model_rater=run.model_rater, items=[first], checks=run)
    again.calls.exclude(sample=0).delete()
    answer_all(again, 2.0)
    one = scale(answers_of(run))
    assert one.draws.tolist()[0] == [1, 4, 5]
    assert one.scores.tolist()[0] == 4
    assert (one.original[0], one.reversed[0]) == (1, 2)


def test_who_cannot_tell_gives_no_score(study: Study) -> None:
    values = cycle([None, None, 3.0])
    run = answered(study, lambda call, dimension: next(values), samples=3)
    one = scale(answers_of(run))
    assert all(math.isnan(value) for value in one.scores)
    assert one.draws.tolist()[0][2] == 3


def test_what_is_invalid_or_still_open_is_no_answer(study: Study) -> None:
    run = answered(study)
    first, second, third, *_rest = items_of(study)
    CallAnswer.objects.filter(call__item=first).update(value=None, fault=Fault.NOT_ALLOWED)
    Call.objects.filter(item=second).update(state=CallState.PENDING)
    Item.objects.filter(pk=third.pk).update(role=ItemRole.PRACTICE)
    assert answers_of(run).n_items == 9


def test_exclusions_in_force_are_honoured(study: Study, rosa) -> None:
    run = answered(study)
    rater, first = run.model_rater.rater, items_of(study)[0]
    exclude(rater=rater, item=first, reason=ExclusionReason.LEAKAGE, explanation="shown", by=rosa)
    found = answers_of(run)
    assert (found.n_items, found.n_excluded) == (11, 1)
    assert scale(found).scores.tolist() == list(SCORES[1:])
    whole = exclude(rater=rater, item=None, reason=ExclusionReason.HAND, explanation="no", by=rosa)
    assert (answers_of(run).n_items, answers_of(run).is_excluded) == (0, True)
    revert(exclusion=whole, by=rosa)
    assert answers_of(run).n_items == 11


def test_of_two_reversed_runs_the_later_answers(study: Study) -> None:
    run = answered(study)
    reversed_of(run, 1.0)
    reversed_of(run, 5.0, items_of(study)[:2])
    assert scale(answers_of(run)).reversed.tolist() == [5, 5, *[1] * 10]


def test_a_conversation_without_a_supporter_has_no_length(study: Study) -> None:
    first = items_of(study)[0]
    Turn.objects.filter(conversation=first.conversation, role="supporter").update(role="other")
    run = answered(study)
    assert math.isnan(scale(answers_of(run)).words[0])


def test_texts_of_many_items_are_read_in_pieces(study: Study, monkeypatch) -> None:
    monkeypatch.setattr("apps.llm.services.bias_answers.CONVERSATIONS_AT_ONCE", 5)
    assert scale(answers_of(answered(study))).words.tolist() == [10.0 * number for number in range(1, 13)]


# --- The job ------------------------------------------------------------------------------------------------------


def checked(run: Run, by) -> BiasCheck:
    check = request_checks(run=run, by=by)
    assert check.job is not None
    run_job(pk=check.job.pk, work=check_bias)
    check.refresh_from_db()
    return check


def figure_of(results: CheckResults, statistic: str, dimension: str = "scale_1") -> Figure:
    return next(one for one in results.figures if (one.statistic, one.dimension) == (statistic, dimension))


def test_a_check_is_kept_as_plain_values(study: Study, rosa) -> None:
    run = answered(study)
    reversed_of(run, by_place(study, shift=1))
    rate(study, {"expert1": EXPERTS})
    check = checked(run, rosa)
    assert check.job is not None
    assert check.job.state == JobState.DONE
    results = CheckResults.read(check.results)
    assert check.results["format"] == FORMAT
    assert (results.seed, results.resamples, results.n_items) == (study.seed, 1000, 12)
    assert [one.label for one in results.scales] == ["Scale 1", "Scale 2"]
    # Ten of twelve scores are one higher, two stand at the end already.
    assert figure_of(results, "shift_mean").value == pytest.approx(10 / 12)
    difference = figure_of(results, "slope_difference")
    assert difference.value is not None
    assert difference.value > 1
    assert difference.p_adjusted is not None
    assert figure_of(results, "slope_difference", "scale_2").reason == "no ratings of experts"
    assert figure_of(results, "draws_equal").reason == "one answer to each question"


def test_the_same_answers_give_the_same_figures(study: Study, rosa) -> None:
    run = answered(study)
    assert checked(run, rosa).results["figures"] == checked(run, rosa).results["figures"]


def test_a_check_asked_for_twice_is_one(study: Study, rosa) -> None:
    run = answered(study)
    first = request_checks(run=run, by=rosa)
    assert request_checks(run=run, by=rosa) == first
    assert Job.objects.filter(kind="llm.check_bias").count() == 1
    assert first.job is not None
    run_job(pk=first.job.pk, work=check_bias)
    assert request_checks(run=run, by=rosa) != first


def test_a_run_without_answers_is_refused(study: Study, rosa) -> None:
    check = checked(make_run(study), rosa)
    assert check.job is not None
    assert check.job.state == JobState.FAILED
    assert "nothing to check" in check.job.message
    assert check.results == {}


def test_a_check_is_not_checked_itself(study: Study, rosa) -> None:
    run = answered(study)
    with pytest.raises(BiasError, match="a check itself"):
        request_checks(run=reversed_of(run, 3.0), by=rosa)


def test_an_excluded_rater_has_reasons_only(study: Study, rosa) -> None:
    run = answered(study)
    exclude(rater=run.model_rater.rater, item=None, reason=ExclusionReason.HAND, explanation="no", by=rosa)
    results = CheckResults.read(checked(run, rosa).results)
    assert results.is_excluded
    assert not any(one.value is not None for one in results.figures)


# --- How they stand -----------------------------------------------------------------------------------------------


def test_results_are_old_once_something_came(study: Study, rosa) -> None:
    run = answered(study)
    rate(study, {"expert1": EXPERTS})
    checked(run, rosa)
    state = check_state(run)
    assert (state.has_new_answers, state.has_new_experts) == (False, False)
    again = reversed_of(run, 3.0)
    state = check_state(run)
    assert (state.has_new_answers, state.has_new_experts) == (True, False)
    assert state.reversed_runs == (again,)
    checked(run, rosa)
    rate(study, {"expert2": EXPERTS})
    assert experts_changed_at(study) is not None
    state = check_state(run)
    assert (state.has_new_answers, state.has_new_experts) == (False, True)
    exclude(rater=run.model_rater.rater, item=None, reason=ExclusionReason.HAND, explanation="no", by=rosa)
    assert check_state(run).has_new_answers


def test_what_asking_again_takes(study: Study) -> None:
    endpoint = make_endpoint("paid", price_input=10, price_output=100)
    run = answered(study, endpoint=endpoint, samples=2)
    again = check_state(run).asking_again
    # Each of twelve items on two scales, once; 100 and 20 tokens each.
    assert (again.n_answered, again.n_items, again.n_calls, again.sampled_calls) == (12, 12, 24, 24)
    assert float(again.cost or 0) == pytest.approx(24 * 0.003)
    assert float(again.cost_by_item or 0) == pytest.approx(0.006)
    free = check_state(answered(study, name="model2", endpoint=make_endpoint("free"))).asking_again
    assert (free.cost, free.sampled_cost) == (None, None)
    nothing = check_state(make_run(study, name="model3", endpoint=make_endpoint("third"))).asking_again
    assert (nothing.n_answered, nothing.n_items, nothing.sampled_calls, nothing.sampled_cost) == (0, 0, 0, None)


def test_only_what_the_checks_compare_is_asked_again(study: Study, rosa) -> None:
    items = items_of(study)
    Item.objects.filter(pk__in=[item.pk for item in items[8:]]).update(role=ItemRole.PRACTICE)
    untold = items[0].pk

    def value(call: Call, dimension: Dimension) -> float | None:
        return None if call.item_id == untold and dimension.slug == "scale_1" else 3.0

    run = make_run(study)
    answer_all(run, value, rate=False)
    for item in items[1:4]:
        exclude(rater=run.model_rater.rater, item=item, reason=ExclusionReason.LEAKAGE, explanation="x", by=rosa)
    again = check_state(run).asking_again
    assert (again.n_answered, again.n_calls) == (5, 9)
    check = create_reversed_run(run=run, n_items=10, by=rosa)
    assert set(check.calls.values_list("item", flat=True)) == {untold, *(item.pk for item in items[4:8])}
    answer_all(check)
    found = answers_of(run)
    usable = [sum(~np.isnan(one.original) & ~np.isnan(one.reversed)) for one in found.scales]
    assert sum(usable) == check.calls.count() == 9
    # What is excluded later is not asked either; and where the rater is excluded from all, nothing is.
    exclude(rater=run.model_rater.rater, item=items[4], reason=ExclusionReason.HAND, explanation="x", by=rosa)
    assert create_reversed_run(run=run, n_items=10, by=rosa).calls.count() == 7
    exclude(rater=run.model_rater.rater, item=None, reason=ExclusionReason.HAND, explanation="x", by=rosa)
    with pytest.raises(PlanError, match="excluded from has a score"):
        create_reversed_run(run=run, n_items=10, by=rosa)
    assert check_state(run).has_answers


def test_the_valid_scales_of_a_framework_are_asked_again(study: Study) -> None:
    run = answered(study, use=Use.FRAMEWORK)
    first, second = run.calls.all()[:2]
    Call.objects.filter(pk__in=[first.pk, second.pk]).update(state=CallState.INVALID)
    spoiled = CallAnswer.objects.filter(call=second) | CallAnswer.objects.filter(call=first, dimension__slug="scale_1")
    spoiled.update(value=None, fault=Fault.MISSING)
    check = create_reversed_run(run=run, n_items=12, by=None)
    assert check.calls.count() == 11
    assert not check.calls.filter(item=second.item).exists()


def test_the_latest_results_that_can_be_read(study: Study, rosa) -> None:
    run = answered(study)
    checked(run, rosa)
    last = checked(run, rosa)
    request_checks(run=run, by=rosa)
    assert latest_results([run])[run.pk] == CheckResults.read(last.results)
    BiasCheck.objects.filter(pk=last.pk).update(results={"format": FORMAT + 1})
    assert check_state(run).results is None
    assert "another version" in check_state(run).problem


@pytest.mark.parametrize("kept", [{"format": FORMAT}, {"format": FORMAT, "computed_at": 3}, {}])
def test_damaged_results_are_said_to_be(kept: dict) -> None:
    with pytest.raises(ResultsError):
        CheckResults.read(kept)


def test_a_scale_of_two_versions_of_a_framework_is_told_apart(study: Study) -> None:
    run = answered(study)
    framework = run.model_rater.version.frameworks.get()
    pk = framework.pk
    framework.pk, framework.version, framework.content_hash = None, 2, "second"
    framework.save()
    for dimension in Dimension.objects.filter(framework_id=pk).prefetch_related("points"):
        points = list(dimension.points.all())
        dimension.pk, dimension.framework = None, framework
        dimension.save()
        for point in points:
            point.pk, point.dimension = None, dimension
            point.save()
    run.model_rater.version.frameworks.add(framework)
    names = [one.framework for one in answers_of(run).scales]
    assert names == ["warmth-scales@1"] * 2 + ["warmth-scales@2"] * 2
