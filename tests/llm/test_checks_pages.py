"""The checks of a run as pages: who may see and ask for them, and what they say."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.annotation.models import Rating
from apps.common.models import Job
from apps.common.services.jobs import run_job
from apps.llm.bias_figures import ORDER_STATISTICS, Check, Figure
from apps.llm.models import BiasCheck, Endpoint, Run, RunState
from apps.llm.services.asking_again import ask_again
from apps.llm.services.bias import FORMAT, CheckResults, check_bias, request_checks
from apps.llm.services.controls import RunError
from apps.llm.services.planning import PlanError
from apps.llm.views.shown_checks import ShownTable, checks_of, shown_tables
from apps.studies.models import ExclusionReason, MemberRole, Membership, Study, StudyStatus
from apps.studies.services.exclusions import exclude
from tests.conftest import make_dataset, make_study
from tests.dashboard.agreement_world import rate
from tests.llm.worlds import answer_all, make_endpoint, make_run

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def run(grief: Study) -> Run:
    """A run of model1 in Rosa's study whose questions are answered."""
    run = make_run(grief, make_endpoint(price_input=10, price_output=100))
    answer_all(run, lambda call, dimension: float(1 + call.item_id % 5), rate=False)
    return run


def address(run: Run, name: str = "run-checks") -> str:
    return reverse(f"llm:{name}", args=[run.study.slug, run.pk])


def checked(run: Run, by) -> BiasCheck:
    check = request_checks(run=run, by=by)
    assert check.job is not None
    run_job(pk=check.job.pk, work=check_bias)
    check.refresh_from_db()
    return check


def test_the_ladder(run: Run, sign_in, rosa, otto, emil, ada, strangers) -> None:
    page = address(run)
    assert sign_in(None).get(page).status_code == 302
    assert sign_in(otto).get(page).status_code == 404
    assert sign_in(emil).get(page).status_code == 404
    assert sign_in(ada).get(page).status_code == 200
    assert sign_in(rosa).get(page).status_code == 200
    assert sign_in(rosa).get(page.replace(f"/{run.pk}/", "/999999/")).status_code == 404
    foreign = make_run(strangers, make_endpoint("theirs"), name="model2")
    assert sign_in(rosa).get(reverse("llm:run-checks", args=["grief", foreign.pk])).status_code == 404
    assert sign_in(rosa).delete(page).status_code == 405


def test_a_researcher_reads_and_does_not_ask(run: Run, sign_in, otto) -> None:
    Membership.objects.create(study=run.study, user=otto, role=MemberRole.RESEARCHER)
    shown = sign_in(otto).get(address(run)).content.decode()
    assert "Not checked yet. An owner of the study can ask for it." in shown
    assert "<button>Check for bias" not in shown
    assert sign_in(otto).post(address(run)).status_code == 403
    assert not BiasCheck.objects.exists()


def test_who_rates_does_not_see_them(run: Run, sign_in, rosa) -> None:
    run.study.raters.filter(name="expert2").update(user=rosa)
    answer = sign_in(rosa).get(address(run))
    assert answer.status_code == 403
    assert "Models are hidden" in answer.content.decode()
    assert sign_in(rosa).post(address(run)).status_code == 403


def test_checks_are_asked_for_and_shown(run: Run, sign_in, rosa, monkeypatch) -> None:
    client = sign_in(rosa)
    assert "<button>Check for bias" in client.get(address(run)).content.decode()
    triggered: list[Job] = []
    monkeypatch.setattr("apps.llm.views.checks.start_job", triggered.append)
    answer = client.post(address(run))
    assert (answer.status_code, answer.headers["Location"]) == (302, address(run))
    [job] = triggered
    waiting = client.get(address(run)).content.decode()
    assert 'hx-trigger="every' in waiting
    assert "<button>Check" not in waiting
    run_job(pk=job.pk, work=check_bias)
    shown = client.get(address(run)).content.decode()
    assert "As computed on" in shown
    assert "<button>Check once more" in shown
    assert "hx-trigger" not in shown
    # Three items, no experts, one sample, nothing reversed.
    assert "No figures: not asked again with the points reversed." in shown
    assert "No figures: one answer to each question." in shown


def test_htmx_gets_the_part(run: Run, sign_in, rosa) -> None:
    answer = sign_in(rosa).get(address(run), **HTMX)
    text = answer.content.decode()
    assert "<html" not in text
    assert 'id="checks"' in text
    assert "HX-Request" in answer.headers["Vary"]


def test_a_check_leads_to_the_run_that_it_checks(run: Run, sign_in, rosa) -> None:
    again = make_run(run.study, model_rater=run.model_rater, checks=run)
    assert sign_in(rosa).get(address(again)).headers["Location"] == address(run)
    assert sign_in(rosa).post(address(again)).headers["Location"] == address(run)
    assert not BiasCheck.objects.exists()


def test_a_run_without_answers_says_so(grief: Study, sign_in, rosa) -> None:
    shown = sign_in(rosa).get(address(make_run(grief))).content.decode()
    assert "Nothing is answered yet, so there is nothing to check." in shown
    assert "Ask again with the points reversed" not in shown


def test_what_asking_again_costs_stands_before_it(run: Run, sign_in, rosa) -> None:
    shown = sign_in(rosa).get(address(run)).content.decode()
    # Three items on two scales; 100 and 20 tokens for 10 and 100 of a million: 0.003 each.
    assert "3 items take about 6 questions." in shown
    assert "that is about 0.018 USD, 0.006 USD for each item." in shown


def test_what_came_since_is_said(run: Run, sign_in, rosa) -> None:
    checked(run, rosa)
    assert "may be old" not in sign_in(rosa).get(address(run)).content.decode()
    rate(run.study, {"expert1": [1, 2, 3]})
    assert "The experts’ ratings have changed since" in sign_in(rosa).get(address(run)).content.decode()
    rater = run.model_rater.rater
    exclude(rater=rater, item=None, reason=ExclusionReason.HAND, explanation="no", by=rosa)
    assert "Answers or exclusions have come since" in sign_in(rosa).get(address(run)).content.decode()
    checked(run, rosa)
    shown = sign_in(rosa).get(address(run)).content.decode()
    assert "the rater is excluded from the study’s figures" in shown


def test_results_of_another_version_are_not_guessed_at(run: Run, sign_in, rosa) -> None:
    check = checked(run, rosa)
    BiasCheck.objects.filter(pk=check.pk).update(results={"format": 99})
    assert "another version of Accord" in sign_in(rosa).get(address(run)).content.decode()


def test_names_are_escaped(run: Run, sign_in, rosa) -> None:
    make_run(run.study, model_rater=run.model_rater, checks=run)
    again = run.reversed_runs.get()
    answer_all(again, 3.0)
    run.model_rater.version.frameworks.get().dimensions.update(label="<b>bold</b>")
    run.model_rater.rater.name = "<i>model</i>"
    run.model_rater.rater.save()
    checked(run, rosa)
    shown = sign_in(rosa).get(address(run)).content.decode()
    assert "&lt;b&gt;bold" in shown
    assert "<b>bold" not in shown
    assert "<i>model" not in shown


def test_a_draft_is_not_asked_again(run: Run, sign_in, rosa) -> None:
    Study.objects.filter(pk=run.study_id).update(status=StudyStatus.DRAFT)
    assert "Ask again with the points reversed" not in sign_in(rosa).get(address(run)).content.decode()


# --- Asking again -------------------------------------------------------------------------------------------------


@pytest.fixture
def triggered(monkeypatch) -> list[int]:
    """Endpoints that were triggered."""
    found: list[int] = []
    monkeypatch.setattr("apps.llm.views.asking_again.trigger_endpoint", found.append)
    return found


def test_asking_again_makes_and_starts_a_reversed_run(run: Run, sign_in, rosa, triggered: list[int]) -> None:
    client = sign_in(rosa)
    answer = client.post(address(run, "run-reversed"), {"n_items": 2})
    assert (answer.status_code, answer.headers["Location"]) == (302, address(run))
    again = run.reversed_runs.get()
    assert (again.state, again.model_rater, again.created_by) == (RunState.RUNNING, run.model_rater, rosa)
    assert again.calls.values("item").distinct().count() == 2
    assert triggered == [run.endpoint_id]
    shown = client.get(address(run)).content.decode()
    assert "The model is asked again." in shown
    # The answers make no ratings.
    before = Rating.objects.count()
    answer_all(again, 2.0)
    assert Rating.objects.count() == before


def test_while_one_is_open_nothing_is_asked_a_second_time(run: Run, sign_in, rosa, triggered: list[int]) -> None:
    client = sign_in(rosa)
    assert "<button>Ask again" in client.get(address(run)).content.decode()
    client.post(address(run, "run-reversed"), {"n_items": 2})
    again = run.reversed_runs.get()
    shown = client.get(address(run)).content.decode()
    assert f'<a href="{address(again, "run")}">Run {again.pk}</a>' in shown
    assert "0 of 4 calls have ended" in shown
    assert "The model is being asked." in shown
    assert "?part=asked-again" in shown
    assert "n_items" not in shown
    answer = client.post(address(run, "run-reversed"), {"n_items": 2})
    assert answer.status_code == 422
    assert (run.reversed_runs.count(), triggered) == (1, [run.endpoint_id])
    Run.objects.filter(pk=again.pk).update(state=RunState.PAUSED)
    shown = client.get(address(run)).content.decode()
    assert "It stands still" in shown
    assert "?part=asked-again" not in shown
    answer_all(again, 2.0)
    shown = client.get(address(run)).content.decode()
    assert "It was asked before." in shown
    assert "<button>Ask once more" in shown


def test_htmx_gets_the_part_on_reversed_runs(run: Run, sign_in, rosa) -> None:
    make_run(run.study, model_rater=run.model_rater, checks=run, state=RunState.RUNNING)
    text = sign_in(rosa).get(address(run), {"part": "asked-again"}, **HTMX).content.decode()
    assert text.strip().startswith('<div id="asked-again" hx-get=')
    assert 'id="checks"' not in text


def test_a_refused_request_says_that_it_is_asked_already(run: Run, sign_in, rosa, triggered: list[int]) -> None:
    again = make_run(run.study, model_rater=run.model_rater, checks=run, state=RunState.PAUSED)
    with pytest.raises(PlanError, match=f"Run {again.pk} asks this again already"):
        ask_again(run=run, n_items=1, by=rosa)


def test_scales_are_folded_by_framework_and_all_of_them_stand_open(run: Run, sign_in, rosa) -> None:
    answer_all(make_run(run.study, model_rater=run.model_rater, checks=run), 3.0)
    checked(run, rosa)
    shown = sign_in(rosa).get(address(run)).content.decode()
    name = run.model_rater.version.frameworks.get().name
    order = shown[shown.index('id="check-order"') : shown.index('id="check-draws"')]
    assert order.index("All scales") < order.index('<details class="check-part">') < order.index(name)
    assert order.count("<details") == 1


def test_the_ladder_of_asking_again(run: Run, sign_in, rosa, otto, emil, strangers, triggered: list[int]) -> None:
    page, data = address(run, "run-reversed"), {"n_items": 1}
    assert sign_in(rosa).get(page).status_code == 405
    assert sign_in(None).post(page, data).status_code == 302
    assert sign_in(otto).post(page, data).status_code == 404
    assert sign_in(emil).post(page, data).status_code == 404
    Membership.objects.create(study=run.study, user=otto, role=MemberRole.RESEARCHER)
    assert sign_in(otto).post(page, data).status_code == 403
    foreign = make_run(strangers, make_endpoint("theirs"), name="model2")
    there = reverse("llm:run-reversed", args=["grief", foreign.pk])
    assert sign_in(rosa).post(there, data).status_code == 404
    run.study.raters.filter(name="expert2").update(user=rosa)
    assert sign_in(rosa).post(page, data).status_code == 403
    assert (run.reversed_runs.count(), triggered) == (0, [])


@pytest.mark.parametrize("given", ["", "0", "-1", "many", "1000000"])
def test_a_bad_number_of_items_is_refused(run: Run, sign_in, rosa, triggered: list[int], given: str) -> None:
    answer = sign_in(rosa).post(address(run, "run-reversed"), {"n_items": given})
    assert answer.status_code == 422
    assert "Items to ask about again" in answer.content.decode()
    assert (run.reversed_runs.count(), triggered) == (0, [])


def test_text_that_may_not_leave_is_not_sent_again(run: Run, sign_in, rosa, triggered: list[int]) -> None:
    Endpoint.objects.filter(pk=run.endpoint_id).update(base_url="https://models.example/v1")
    shown = sign_in(rosa).get(address(run)).content.decode()
    assert "has to confirm first" in shown
    assert "<button>Ask again" not in shown
    answer = sign_in(rosa).post(address(run, "run-reversed"), {"n_items": 1})
    assert answer.status_code == 422
    assert (run.reversed_runs.count(), triggered) == (0, [])


def test_a_check_is_not_asked_again(run: Run, sign_in, rosa, triggered: list[int]) -> None:
    again = make_run(run.study, model_rater=run.model_rater, checks=run)
    answer = sign_in(rosa).post(address(again, "run-reversed"), {"n_items": 1})
    assert answer.headers["Location"] == address(run)
    assert (Run.objects.count(), triggered) == (2, [])


def test_what_cannot_be_started_is_not_made(run: Run, sign_in, rosa, triggered: list[int], monkeypatch) -> None:
    def refuse(**_given) -> None:
        raise RunError("It cannot be started.")

    monkeypatch.setattr("apps.llm.services.asking_again.start_run", refuse)
    answer = sign_in(rosa).post(address(run, "run-reversed"), {"n_items": 1})
    assert answer.status_code == 422
    assert "It cannot be started." in answer.content.decode()
    assert run.reversed_runs.count() == 0


# --- Queries ------------------------------------------------------------------------------------------------------


def test_the_queries_do_not_grow(run: Run, sign_in, rosa, framework) -> None:
    client = sign_in(rosa)
    rate(run.study, {"expert1": [1, 2, 3]})
    answer_all(make_run(run.study, model_rater=run.model_rater, checks=run), 3.0)
    checked(run, rosa)
    client.get(address(run))
    before = queries(client, address(run))
    big = make_study(
        "big", owner=rosa, dataset=make_dataset("many", conversations=15, owner=rosa), frameworks=[framework]
    )
    many = make_run(big, run.endpoint, name="model9")
    answer_all(many, lambda call, dimension: float(1 + call.item_id % 5), rate=False)
    for _number in range(3):
        answer_all(make_run(big, model_rater=many.model_rater, checks=many), 2.0)
    checked(many, rosa)
    checked(many, rosa)
    assert queries(client, address(many)) == before


def queries(client, page: str) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(page).status_code == 200
    return len(found)


# --- Words --------------------------------------------------------------------------------------------------------


def figure(check: Check, statistic: str, value: float | None, dimension: str = "calm", **fields) -> Figure:
    reason = "" if value is not None else "no variation"
    named = {"check": check.value, "framework": "f" if dimension else "", "dimension": dimension}
    return Figure(
        **named | {"statistic": statistic, "value": value, "reason": reason, "n_items": 40, "n_ratings": 40} | fields
    )


def table_of(figures: list[Figure], check: Check) -> ShownTable:
    results = CheckResults.read(
        {
            "format": FORMAT,
            "computed_at": "2026-12-01T10:00:00+00:00",
            "seed": 1,
            "resamples": 1000,
            "n_items": 40,
            "n_excluded": 0,
            "is_excluded": False,
            "scales": [["f", "calm", "Calm scales", "Calm"]],
            "figures": [one.as_dict() for one in figures],
        }
    )
    return next(one for one in shown_tables(results) if one.name == check)


def words_of(figures: list[Figure], check: Check) -> list[str]:
    return [row.reading for row in table_of(figures, check).rows]


def length(difference: float | None, p: float | None, model: float | None = 0.3, p_model: float | None = 0.01):
    return [
        figure(Check.LENGTH, "slope_model", model, p_adjusted=p_model),
        figure(Check.LENGTH, "slope_experts", 0.1),
        figure(Check.LENGTH, "slope_difference", difference, p_adjusted=p),
    ]


def test_figures_of_length_have_a_unit() -> None:
    table = table_of(length(0.123, 0.01), Check.LENGTH)
    assert table.unit == "points per 100 words"
    assert table.caption.startswith("In points per 100 words: ")
    assert table_of(order(0.5), Check.ORDER).unit == ""


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (length(0.123, 0.01), "The scores rise by 0.12 points per 100 words more than the experts’ do."),
        (length(-0.123, 0.01), "The scores rise by 0.12 points per 100 words less than the experts’ do."),
        (length(0.123, 0.2), "No difference from the experts can be told."),
        (length(0.123, None), "No difference from the experts can be told."),
        (length(None, None), "The scores rise by 0.30 points per 100 words; the experts’ are not known."),
        (length(None, None, -0.3), "The scores fall by 0.30 points per 100 words; the experts’ are not known."),
        (length(None, None, 0.3, 0.5), "No slope can be told."),
    ],
)
def test_length_in_words(figures: list[Figure], words: str) -> None:
    assert words_of(figures, Check.LENGTH) == [words]


def order(shift: float | None, dimension: str = "calm", **fields) -> list[Figure]:
    rest = [figure(Check.ORDER, name, 0.5, dimension) for name in ORDER_STATISTICS[1:]]
    return [figure(Check.ORDER, "shift_mean", shift, dimension, **fields), *rest]


MOVED_FIRST = "The scores move by 0.50 points to the end that stands first."


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        (order(0.5, p_value=0.001, p_adjusted=0.02), MOVED_FIRST),
        (order(-0.5, p_value=0.001, p_adjusted=0.02), "The scores move by 0.50 points to the end that stands last."),
        # The test of one scale among many is not the last word, and neither is its interval.
        (order(0.5, p_value=0.01, p_adjusted=0.21, ci_low=0.1, ci_high=0.9), "No shift can be told."),
        (order(0.5, p_value=0.3, p_adjusted=0.6, ci_low=0.1, ci_high=0.9), "No shift can be told."),
        (order(0.5, n_items=9, ci_low=0.1, ci_high=0.9), "Too few items to tell a shift: it takes 10."),
        # Over all scales there is one test.
        (order(0.5, "", p_value=0.01), MOVED_FIRST),
        (order(0.5, "", p_value=0.06), "No shift can be told."),
        (order(None), ""),
    ],
)
def test_order_in_words(figures: list[Figure], words: str) -> None:
    known = figures if figures[0].value is not None else [*figures, *order(0.1, "", p_value=0.4)]
    assert words_of(known, Check.ORDER)[-1] == words


def test_all_scales_are_told_first() -> None:
    told = order(0.5, p_value=0.001, p_adjusted=0.02)
    lead = table_of([*told, *order(0.5, "", p_value=0.06)], Check.ORDER).lead
    assert lead == "Over all scales: No shift can be told. Scale by scale, a shift can be told on 1 of 1."
    few = [*order(0.5, n_items=9), *order(0.5, "", n_items=9)]
    assert table_of(few, Check.ORDER).lead == "Over all scales: Too few items to tell a shift: it takes 10."
    lead = table_of(length(0.123, 0.2), Check.LENGTH).lead
    assert lead == "Scale by scale, a difference from the experts can be told on 0 of 1."
    assert table_of(length(None, None), Check.LENGTH).lead == ""


@pytest.mark.parametrize(
    ("low", "high", "p", "adjusted", "words"),
    [
        (0.97, 7.75, 0.957, 0.99, "Model: the interval leaves out 0, and p does not."),
        (-0.2, 0.9, 0.01, 0.02, "Model: p is small, though the interval holds 0."),
        (0.1, 0.9, 0.01, 0.2, "Model: the interval looks at this scale alone,"),
        (0.1, 0.9, None, None, "Model: there is no p, since one item holds the line"),
        (0.1, 0.9, 0.01, 0.02, ""),
        (-0.1, 0.9, 0.3, 0.4, ""),
    ],
)
def test_an_interval_and_a_p_that_point_apart_are_explained(low, high, p, adjusted, words: str) -> None:
    slope = figure(Check.LENGTH, "slope_model", 0.1, ci_low=low, ci_high=high, p_value=p, p_adjusted=adjusted)
    [row] = table_of([slope, *length(0.1, 0.5)[1:]], Check.LENGTH).rows
    assert [doubt[: len(words)] for doubt in row.doubts] == ([words] if words else [])


def test_a_sentence_of_doubt_stands_beside_the_figures(run: Run, sign_in, rosa) -> None:
    check = checked(run, rosa)
    shift = {"n_items": 40, "ci_low": 0.1, "ci_high": 0.9, "p_value": 0.3, "p_adjusted": 0.45}
    figures = [one.as_dict() for one in [*order(0.5, **shift), *order(0.5, "", p_value=0.8)]]
    scales = [["f", "calm", "Calm scales", "Calm"]]
    BiasCheck.objects.filter(pk=check.pk).update(results=check.results | {"figures": figures, "scales": scales})
    shown = sign_in(rosa).get(address(run)).content.decode()
    assert "Shift: the interval leaves out 0, and p does not." in shown
    assert "Over all scales: No shift can be told." in shown
    assert "p = 0.450" in shown
    assert "p = 0.800" in shown


def test_figures_are_written_as_everywhere(run: Run) -> None:
    rest = [figure(Check.ORDER, name, 0.5, "") for name in ORDER_STATISTICS[1:]]
    shift = figure(Check.ORDER, "shift_mean", -0.001, "", ci_low=-0.25, ci_high=0.25)
    results = CheckResults.read(
        {
            "format": FORMAT,
            "computed_at": "2026-12-01T10:00:00+00:00",
            "seed": 1,
            "resamples": 1000,
            "n_items": 40,
            "n_excluded": 0,
            "is_excluded": False,
            "scales": [],
            "figures": [one.as_dict() for one in [shift, *rest]],
        }
    )
    [row] = next(iter(shown_tables(results))).rows
    assert (row.cells[0].value, row.cells[0].interval) == ("0.00", "−0.25 to +0.25")
    assert row.cells[1].value == "50 %"
    assert checks_of(run).sampled_cost == "0.018 USD"


@pytest.mark.parametrize(("budget", "left"), [("4.50", "4.48 USD"), ("0.01", "0 USD"), (None, "")])
def test_what_is_left_of_a_budget_is_said_before_asking_again(run: Run, sign_in, rosa, budget, left) -> None:
    run.budget = budget and Decimal(budget)
    run.save(update_fields=["budget"])
    assert checks_of(run).left_of_budget == left
    shown = sign_in(rosa).get(address(run)).content.decode()
    assert ("Of the run&#x27;s budget" in shown or "Of the run's budget" in shown) is bool(left)
    assert left in shown
