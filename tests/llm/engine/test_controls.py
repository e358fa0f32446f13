"""Starting, pausing, resuming and cancelling a run, and asking again what failed."""

import pytest

from apps.annotation.models import Rating, RatingEvent
from apps.common.models import AuditEntry
from apps.llm.models import CallState, Endpoint, Pause, Run, RunState
from apps.llm.providers.protocol import ErrorKind
from apps.llm.services import settling
from apps.llm.services.claiming import Claims
from apps.llm.services.consent import give_consent
from apps.llm.services.controls import RunError, cancel_run, pause_run, resume_run, retry_failed, start_run
from apps.llm.services.planning import RunSelection, create_run
from apps.llm.services.storing import store
from apps.llm.templates import Use
from apps.studies.models import Study, StudyStatus
from tests.llm.engine.stubs import answer, answer_once, at_once_due, claims, error, framework_answer, outcomes
from tests.llm.worlds import make_endpoint, make_run

pytestmark = pytest.mark.django_db

ACTS = {"start": start_run, "pause": pause_run, "resume": resume_run, "cancel": cancel_run, "retry": retry_failed}
ALLOWED = {
    "start": {RunState.READY},
    "pause": {RunState.RUNNING},
    "resume": {RunState.PAUSED},
    "cancel": {RunState.READY, RunState.RUNNING, RunState.PAUSED},
    "retry": {RunState.RUNNING, RunState.PAUSED, RunState.DONE},
}


@pytest.fixture
def run(grief, provider):
    return make_run(grief, make_endpoint())


def at(run: Run, state: RunState) -> Run:
    Run.objects.filter(pk=run.pk).update(state=state)
    return Run.objects.get(pk=run.pk)


def states(run: Run) -> set[str]:
    return set(run.calls.values_list("state", flat=True))


@pytest.mark.parametrize("verb", ACTS)
@pytest.mark.parametrize("state", list(RunState))
def test_each_act_from_the_states_it_fits_only(run, rosa, verb, state):
    run = at(run, state)
    run.calls.filter(position=0).update(state=CallState.FAILED)
    before = list(run.calls.values("pk", "state"))
    if state in ALLOWED[verb]:
        ACTS[verb](run=run, by=rosa)
        entry = AuditEntry.objects.get(action=f"run.{verb}")
        assert (entry.actor, entry.subject, entry.details["run"]) == (rosa, "grief", run.pk)
    else:
        with pytest.raises(RunError, match=r"^[A-Z].*\.$"):
            ACTS[verb](run=run, by=rosa)
        assert Run.objects.get(pk=run.pk).state == state
        assert list(run.calls.values("pk", "state")) == before
        assert not AuditEntry.objects.exists()


def test_a_run_started_paused_resumed(run, rosa):
    started = start_run(run=run, by=rosa)
    assert (started.state, started.pause) == (RunState.RUNNING, "")
    assert started.started_at is not None
    paused = pause_run(run=run, by=rosa)
    assert (paused.state, paused.pause) == (RunState.PAUSED, Pause.HAND)
    resumed = resume_run(run=run, by=rosa)
    assert (resumed.state, resumed.pause, resumed.started_at) == (RunState.RUNNING, "", started.started_at)


@pytest.mark.parametrize(("act", "state"), [(start_run, RunState.READY), (resume_run, RunState.PAUSED)])
class TestWhatMustBeThere:
    def refused(self, run, act, state, by) -> str:
        run = at(run, state)
        with pytest.raises(RunError) as refusal:
            act(run=run, by=by)
        assert Run.objects.get(pk=run.pk).state == state
        return str(refusal.value)

    def test_a_study_that_is_no_draft(self, run, rosa, act, state):
        Study.objects.update(status=StudyStatus.DRAFT)
        assert "draft" in self.refused(run, act, state, rosa)
        Study.objects.update(status=StudyStatus.CLOSED)
        act(run=run, by=rosa)

    def test_an_endpoint_in_use(self, run, rosa, act, state):
        Endpoint.objects.update(retired_at=run.created_at)
        assert "retired" in self.refused(run, act, state, rosa)

    def test_leave_to_send_text_away(self, run, rosa, act, state, grief):
        Endpoint.objects.update(base_url="https://models.example.org/v1")
        assert "confirm" in self.refused(run, act, state, rosa)
        give_consent(study=grief, endpoint=Endpoint.objects.get(), by=rosa)
        Study.objects.update(local_only=True)
        assert "stays on this machine" in self.refused(run, act, state, rosa)

    def test_a_key_whose_variable_only_admins_are_told(self, run, rosa, ada, act, state, monkeypatch):
        Endpoint.objects.update(key_variable="ACCORD_TEST_MODEL_KEY")
        monkeypatch.delenv("ACCORD_TEST_MODEL_KEY", raising=False)
        said = self.refused(run, act, state, rosa)
        assert said == "The endpoint's key is not set: please tell whoever runs this site."
        for person in (ada, None):
            assert "ACCORD_TEST_MODEL_KEY" in self.refused(run, act, state, person)
        monkeypatch.setenv("ACCORD_TEST_MODEL_KEY", "a key of the tests")
        act(run=run, by=rosa)


def test_answers_on_their_way_are_stored_in_a_paused_run(run, rosa):
    start_run(run=run, by=rosa)
    found = outcomes(claims(run, 2), answer("2"), error(ErrorKind.PASSING))
    pause_run(run=run, by=rosa)
    store(found)
    assert Rating.objects.get().value == 2
    assert run.calls.filter(state=CallState.PENDING).count() == 5
    assert Run.objects.get().pause == Pause.HAND


def test_a_paused_run_whose_last_answers_came_is_done(run, rosa):
    start_run(run=run, by=rosa)
    found = outcomes(claims(run))
    pause_run(run=run, by=rosa)
    store(found)
    run.refresh_from_db()
    assert (run.state, run.pause) == (RunState.DONE, "")


def test_what_is_on_its_way_when_a_run_is_cancelled_is_stored(run, rosa):
    start_run(run=run, by=rosa)
    found = outcomes(claims(run, 3), answer("2"), answer("not 3"), error(ErrorKind.PASSING))
    cancelled = cancel_run(run=run, by=rosa)
    assert cancelled.finished_at is not None
    assert states(run) == {CallState.RUNNING, CallState.CANCELLED}
    store(found)
    assert list(run.calls.values_list("state", flat=True)) == ["done"] + ["cancelled"] * 5
    assert Rating.objects.get().value == 2
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert AuditEntry.objects.get(action="run.cancel").details == {"run": run.pk, "cancelled": 3}


def test_cancelling_keeps_what_some_samples_said(grief, provider, rosa):
    run = make_run(grief, make_endpoint(), samples=3, state=RunState.RUNNING)
    answer_once(run, answer("2"), answer("4"), wanted=2)
    assert not Rating.objects.exists()
    cancel_run(run=run, by=rosa)
    assert Rating.objects.get().value == 2


# --- A cancelled run, and the run that asks again -------------------------------------------------------------------


@pytest.fixture
def late(grief, provider, rosa):
    """A run of two samples, cancelled while the first of them is on its way: the run, and its answer, a 1."""
    run = make_run(grief, make_endpoint(), samples=2, state=RunState.RUNNING)
    on_its_way = outcomes(claims(run, 1), answer("1"))
    return cancel_run(run=run, by=rosa), on_its_way


def asked_anew(run, rosa) -> Run:
    again = create_run(study=run.study, model_rater=run.model_rater, selection=RunSelection(), by=rosa)
    assert again.calls.count() == run.calls.count()
    return start_run(run=again, by=rosa)


def rating_of(found) -> tuple[float, list[float]]:
    question = found[0].claimed.question
    rating = Rating.objects.get(item=question.item_id, dimension=question.dimension_id)
    return rating.value, list(rating.draws.order_by("index").values_list("value", flat=True))


@pytest.mark.parametrize("said", ["1", "5"])
def test_what_a_cancelled_run_says_late_is_kept_and_leaves_the_rating_of_a_newer_one(late, rosa, said):
    run, found = late
    answer_once(asked_anew(run, rosa), answer("5"))
    events = RatingEvent.objects.count()
    store(outcomes(Claims([found[0].claimed]), answer(said)))
    assert rating_of(found) == (5, [5, 5])
    assert RatingEvent.objects.count() == events
    call = run.calls.get(pk=found[0].claimed.call_id)
    assert (call.state, call.answers.get().value) == (CallState.DONE, float(said))
    assert call.exchanges.get().reply == answer(said)


def test_what_a_cancelled_run_says_is_a_rating_until_a_newer_one_has_its_own(late, rosa):
    run, found = late
    again = asked_anew(run, rosa)
    answer_once(again, answer("5"), wanted=1)
    store(found)
    assert rating_of(found) == (1, [1])
    answer_once(again, answer("5"))
    assert rating_of(found) == (5, [5, 5])


def test_one_that_comes_late_among_others_keeps_none_of_them_from_their_ratings(grief, provider, rosa):
    run = make_run(grief, make_endpoint(), samples=2, state=RunState.RUNNING)
    found = outcomes(claims(run, 12), answer("1"))
    run = cancel_run(run=run, by=rosa)
    store(found[::2])
    question = found[0].claimed.question
    rater = run.model_rater.rater
    Rating.objects.create(item_id=question.item_id, dimension_id=question.dimension_id, rater=rater, value=4)
    store(found[1::2])
    assert sorted(Rating.objects.values_list("value", flat=True)) == [1, 1, 1, 1, 1, 4]


def test_of_two_that_store_at_once_the_newer_stays(late, rosa, monkeypatch):
    """The newer run's rating is written after the cancelled one has looked, and before it writes."""
    run, found = late
    newer = outcomes(claims(asked_anew(run, rosa), 2), answer("5"))
    usual = settling.record_ratings

    def after_the_newer(**arguments):
        monkeypatch.setattr(settling, "record_ratings", usual)
        store(newer)
        return usual(**arguments)

    monkeypatch.setattr(settling, "record_ratings", after_the_newer)
    store(found)
    assert rating_of(found) == (5, [5, 5])


@pytest.mark.parametrize("what", ["its repair is invalid", "its repair meets a network that is away"])
def test_what_is_invalid_in_a_cancelled_run_can_be_asked_by_another(run, rosa, what):
    start_run(run=run, by=rosa)
    answer_once(run, answer("x"), answer("3"), wanted=5)
    invalid = run.calls.filter(is_repair=True)
    reply = answer("x") if what == "its repair is invalid" else error(ErrorKind.PASSING)
    while invalid.get().state == CallState.PENDING:
        at_once_due(run)
        answer_once(run, reply, wanted=1)
    assert invalid.get().state == CallState.INVALID
    cancel_run(run=run, by=rosa)
    again = create_run(study=run.study, model_rater=run.model_rater, selection=RunSelection(), by=rosa)
    keys = set(run.calls.filter(state__in=(CallState.INVALID, CallState.CANCELLED)).values_list("key", flat=True))
    assert set(again.calls.values_list("key", flat=True)) == keys
    assert len(keys) == 2


def test_failed_and_invalid_calls_are_asked_again_from_the_beginning(run, rosa):
    start_run(run=run, by=rosa)
    answer_once(run, answer("2"), error(ErrorKind.REFUSED), answer("x"), answer("3"))
    answer_once(run, answer("x"))
    assert Run.objects.get().state == RunState.DONE
    retried = retry_failed(run=run, by=rosa)
    assert (retried.state, retried.finished_at) == (RunState.RUNNING, None)
    open_calls = list(run.calls.filter(state=CallState.PENDING).values_list("attempts", "is_repair", "problem"))
    assert open_calls == [(0, False, "")] * 2
    answer_once(run, answer("5"))
    assert sorted(Rating.objects.values_list("value", flat=True)) == [2, 3, 3, 3, 5, 5]
    assert Run.objects.get().state == RunState.DONE
    with pytest.raises(RunError, match="Nothing of this run has failed"):
        retry_failed(run=run, by=rosa)


def test_asking_again_never_replaces_a_valid_answer(grief, provider, rosa):
    run = make_run(
        grief, make_endpoint(), use=Use.FRAMEWORK, items=grief.blocks.get().items.all()[:1], state=RunState.RUNNING
    )
    answer_once(run, framework_answer({"scale_1": "1", "scale_2": "x"}))
    answer_once(run, framework_answer({"scale_2": "x"}))
    retry_failed(run=run, by=rosa)
    answer_once(run, framework_answer({"scale_1": "5", "scale_2": "x"}))
    [repair] = answer_once(run, framework_answer({"scale_2": "4"}))
    assert [scale.slug for scale in repair.claimed.asked.scales] == ["scale_2"]
    assert dict(Rating.objects.values_list("dimension__slug", "value")) == {"scale_1": 1, "scale_2": 4}
    assert RatingEvent.objects.count() == 2


def test_a_sample_asked_again_makes_the_rating_anew(grief, provider, rosa):
    run = make_run(grief, make_endpoint(), samples=3, items=grief.blocks.get().items.all()[:1], state=RunState.RUNNING)
    run.calls.filter(position__gte=3).delete()
    answer_once(run, answer("1"), answer("5"), error(ErrorKind.REFUSED))
    assert Rating.objects.get().value == 1
    retry_failed(run=run, by=rosa)
    assert Rating.objects.get().value == 1
    answer_once(run, answer("4"))
    assert Rating.objects.get().value == 4


def test_a_paused_run_stays_paused_when_its_failed_calls_are_to_be_asked_again(run, rosa):
    run = at(run, RunState.PAUSED)
    Run.objects.update(pause=Pause.KEY, pause_detail="Refused.")
    run.calls.update(state=CallState.FAILED)
    found = retry_failed(run=run, by=rosa)
    assert (found.state, found.pause, found.pause_detail) == (RunState.PAUSED, Pause.KEY, "Refused.")
