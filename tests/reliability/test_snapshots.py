from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.utils import timezone

from apps.common.models import Job, JobState
from apps.common.services.jobs import request_cancel, run_job, sweep_jobs
from apps.common.tasks import start_job
from apps.corpus.models import Conversation
from apps.measures.pairs import Convention
from apps.reliability.agreement import Settings, analyse
from apps.reliability.kept import UnreadableError
from apps.reliability.matrix import TableKey, content_hash, table_hash
from apps.reliability.models import Snapshot, SnapshotRequest
from apps.reliability.selection import DataSelection
from apps.reliability.services import snapshots
from apps.reliability.services.loading import load_tables
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import (
    NothingRatedError,
    current_among,
    forget_superseded,
    is_current,
    latest_snapshot,
    open_request,
    request_snapshot,
    take_requested_snapshot,
    take_snapshot,
)
from apps.reports.models import StoredReport
from apps.studies.models import Assignment, AssignmentState, Rater, RaterKind
from apps.studies.services.exclusions import exclude
from apps.studies.services.raters import add_rater
from tests.simultaneous import at_once

pytestmark = pytest.mark.django_db
EVERYTHING = DataSelection()
QUICK = {"resamples": 10}


@pytest.fixture
def rated(grief, rate):
    rate(grief, {"expert1": [1, 2, 4], "expert2": [1, 3, 5], "expert3": [2, 2, 5]})
    rate(grief, {"expert1": [1, 5, 4], "expert2": [1, 3, "?"]}, dimension="scale_2")
    return grief


def request(study, by, **given) -> Job:
    return request_snapshot(study=study, selection=EVERYTHING, by=by, **QUICK, **given)


def run(job: Job) -> Job:
    run_job(pk=job.pk, work=take_requested_snapshot)
    job.refresh_from_db()
    return job


# --- Taking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convention", Convention)
def test_a_snapshot_holds_what_is_computed_from_the_ratings(rated, rosa, convention):
    view = SnapshotView(take_snapshot(study=rated, by=rosa, **QUICK))
    direct = analyse(load_tables(study=rated), Settings(convention, 10, rated.seed))
    assert view.agreement(convention) == direct
    assert view.rows(convention=convention) == list(direct.rows)
    snapshot = view.snapshot
    assert (snapshot.n_tables, snapshot.n_raters, snapshot.n_ratings) == (2, 3, 14)
    assert (snapshot.seed, snapshot.resamples, snapshot.created_by) == (rated.seed, 10, rosa)
    assert set(snapshot.versions) >= {"accord", "numpy"}
    thawed = list(view.tables())
    assert content_hash(map(table_hash, thawed)) == snapshot.data_hash == direct.data_hash


def test_the_same_ratings_have_one_snapshot(rated, rate):
    first = take_snapshot(study=rated, **QUICK)
    again = take_snapshot(study=rated, **QUICK)
    assert again.pk == first.pk
    rate(rated, {"expert1": [5, 2, 4]})
    other = take_snapshot(study=rated, **QUICK)
    assert other.pk != first.pk
    # What it was before has its figures still.
    rate(rated, {"expert1": [1, 2, 4]})
    back = take_snapshot(study=rated, **QUICK)
    assert back.pk == first.pk
    assert latest_snapshot(study=rated, selection=EVERYTHING, **QUICK) == first
    assert is_current(back)


def test_nothing_is_computed_twice(rated, monkeypatch):
    take_snapshot(study=rated, **QUICK)
    monkeypatch.setattr(snapshots, "analyse", lambda *given, **named: pytest.fail("computed again"))
    take_snapshot(study=rated, **QUICK)


@pytest.mark.parametrize("other", [{"resamples": 20}, {"selection": DataSelection(with_excluded=True)}])
def test_other_settings_have_a_snapshot_of_their_own(rated, other):
    first = take_snapshot(study=rated, **QUICK)
    assert take_snapshot(study=rated, **(QUICK | other)).pk != first.pk


def test_another_seed_has_a_snapshot_of_its_own_also_for_a_study_fetched_before(rated):
    first = take_snapshot(study=rated, **QUICK)
    type(rated).objects.filter(pk=rated.pk).update(seed=7)
    assert not is_current(first)
    assert take_snapshot(study=rated, **QUICK).seed == 7


def test_another_version_of_accord_computes_anew(rated, monkeypatch):
    first = take_snapshot(study=rated, **QUICK)
    monkeypatch.setattr(snapshots, "VERSION", "99")
    assert not is_current(first)
    assert take_snapshot(study=rated, **QUICK).pk != first.pk


def test_the_account_and_the_words_are_those_of_now_where_the_ratings_are_the_same(rated):
    first = take_snapshot(study=rated, **QUICK)
    add_rater(study=rated, kind=RaterKind.LLM, name="gpt")
    rated.blocks.update(title="Letters of grief")
    again = take_snapshot(study=rated, **QUICK)
    assert again.pk == first.pk
    view = SnapshotView(again)
    assert "gpt" in {rater.name for rater in view.account.raters_not_used()}
    assert view.labels.blocks[0].title == "Letters of grief"
    assert is_current(again)


def test_the_selection_chooses_the_conversations_and_the_raters(rated, rosa):
    Conversation.objects.filter(external_id__in=["letters-001", "letters-002"]).update(metadata={"topic": "loss"})
    exclude(rater=rated.raters.get(name="expert3"), by=rosa)
    loss = DataSelection.of({"meta.topic": ["loss"]})
    everybody = replace(loss, with_excluded=True)
    view = SnapshotView(take_snapshot(study=rated, selection=loss, **QUICK))
    assert view.snapshot.n_ratings == 8
    assert [rater.name for rater in view.raters()] == ["expert1", "expert2"]
    view = SnapshotView(take_snapshot(study=rated, selection=everybody, **QUICK))
    assert [rater.name for rater in view.raters()] == ["expert1", "expert2", "expert3"]
    assert view.snapshot.chosen == everybody
    assert latest_snapshot(study=rated, selection=EVERYTHING, **QUICK) is None


# --- Nothing to compute -------------------------------------------------------------------------------------------


def refusal(study, **selection) -> str:
    with pytest.raises(NothingRatedError) as problem:
        take_snapshot(study=study, selection=DataSelection.of(**selection), **QUICK)
    assert not Snapshot.objects.exists()
    return str(problem.value)


def test_without_ratings_it_says_so(grief):
    assert refusal(grief) == "Nothing is rated yet. Agreement needs ratings."


def test_without_anything_handed_in_it_says_so(grief, rate):
    rate(grief, {"expert1": [1, None, None]})
    item = grief.blocks.get().items.get(position=0)
    Assignment.objects.create(
        rater=grief.raters.get(name="expert1"), item=item, position=0, state=AssignmentState.IN_PROGRESS
    )
    assert refusal(grief).startswith("Nothing is handed in yet.")


def test_without_a_rater_left_it_says_so(grief, rate, rosa):
    rate(grief, {"expert1": [1, 2, 3]})
    exclude(rater=grief.raters.get(name="expert1"), by=rosa)
    assert "every rating of a main item is excluded" in refusal(grief)


def test_without_a_chosen_conversation_it_says_so(grief, rate):
    rate(grief, {"expert1": [1, 2, 3]})
    assert refusal(grief, metadata={"meta.topic": ["war"]}).startswith("None of the chosen conversations")


def test_with_practice_alone_it_says_so(grief, rate):
    rate(grief, {"expert1": [1, 2, 3]})
    grief.blocks.get().items.update(role="practice")
    assert "only practice, gold and attention items" in refusal(grief)


def test_a_job_of_nothing_fails_with_the_sentence(grief, rosa):
    job = run(request(grief, rosa))
    assert (job.state, job.message) == (JobState.FAILED, "Nothing is rated yet. Agreement needs ratings.")


def test_a_single_rating_has_a_snapshot_in_which_everything_is_undefined_in_words(grief, rate):
    """CASES 22."""
    rate(grief, {"expert1": [1, None, None]})
    rows = SnapshotView(take_snapshot(study=grief, **QUICK)).rows()
    assert rows
    assert {row.value for row in rows} == {None}
    assert all(row.reason for row in rows)


def test_cannot_tell_alone_has_a_snapshot_in_which_everything_is_undefined(grief, rate):
    rate(grief, {"expert1": ["?", "?", None], "expert2": ["?", None, None]})
    rows = SnapshotView(take_snapshot(study=grief, **QUICK)).rows(statistics=["kappa_quadratic", "alpha_interval"])
    assert {(row.value, row.reason) for row in rows} == {(None, "no shared items"), (None, "fewer than two raters")}


# --- Current or not -----------------------------------------------------------------------------------------------


def test_it_is_current_until_something_changes(rated, rate, strangers):
    snapshot = take_snapshot(study=rated, **QUICK)
    assert is_current(snapshot)
    rate(strangers, {"expert1": [1, 2, 3]})
    assert is_current(Snapshot.objects.get(pk=snapshot.pk))
    rate(rated, {"expert1": [1, 2, 5]})
    assert not is_current(snapshot)


def test_a_rating_given_while_it_is_read_is_read_too(rated, rate, monkeypatch):
    inner = snapshots.load_tables
    given = []

    def loaded(**named):
        tables = inner(**named)
        if not given:
            given.append(rate(rated, {"expert1": [5, 2, 4]}))
        return tables

    monkeypatch.setattr(snapshots, "load_tables", loaded)
    snapshot = take_snapshot(study=rated, **QUICK)
    assert snapshot.data_hash == content_hash(map(table_hash, inner(study=rated)))
    assert is_current(snapshot)


def test_where_ratings_never_rest_while_it_is_read_it_is_not_called_current(rated, rate, monkeypatch):
    inner = snapshots.load_tables
    values = iter([5, 3, 4])

    def loaded(**named):
        tables = inner(**named)
        rate(rated, {"expert1": [next(values), 2, 4]})
        return tables

    monkeypatch.setattr(snapshots, "load_tables", loaded)
    snapshot = take_snapshot(study=rated, **QUICK)
    assert not is_current(snapshot)
    assert next(values) == 4


def test_a_rating_handed_in_while_it_is_computed_makes_it_old(rated, rate, monkeypatch):
    inner = snapshots.analyse

    def computed(*given, **named):
        agreement = inner(*given, **named)
        rate(rated, {"expert1": [5, 2, 4]})
        return agreement

    monkeypatch.setattr(snapshots, "analyse", computed)
    snapshot = take_snapshot(study=rated, **QUICK)
    assert not is_current(snapshot)
    # The figures are whole: those of the moment before.
    before = content_hash(map(table_hash, SnapshotView(snapshot).tables()))
    assert snapshot.data_hash == before
    monkeypatch.undo()
    assert take_snapshot(study=rated, **QUICK).pk != snapshot.pk


def test_several_are_asked_about_at_once(rated, rate, strangers, django_assert_num_queries):
    old = take_snapshot(study=rated, **QUICK)
    rate(rated, {"expert1": [5, 2, 4]})
    new = [take_snapshot(study=rated, resamples=number) for number in (5, 10, 15)]
    rate(strangers, {"expert1": [1, 2, 3]})
    foreign = take_snapshot(study=strangers, **QUICK)
    with django_assert_num_queries(12):
        assert current_among([old, *new], study=rated) == {one.pk for one in new}
    assert current_among([foreign], study=rated) == set()
    assert current_among([], study=rated) == set()


def test_asking_costs_the_same_however_many_ratings(rated, rate, django_assert_num_queries):
    snapshot = take_snapshot(study=rated, **QUICK)
    with django_assert_num_queries(11):
        assert is_current(snapshot)
    for number in range(4, 12):
        add_rater(study=rated, kind=RaterKind.EXPERT, name=f"expert{number}")
    rate(rated, {f"expert{number}": [1, 2, 3] for number in range(4, 12)})
    snapshot = take_snapshot(study=rated, **QUICK)
    with django_assert_num_queries(11):
        assert is_current(snapshot)


# --- The job ------------------------------------------------------------------------------------------------------


def test_a_job_takes_it_and_says_where_to_look(rated, rosa, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        job = request(rated, rosa, back_url="/studies/grief/agreement/")
        start_job(job)
    job.refresh_from_db()
    assert (job.state, job.message) == (JobState.DONE, "The agreement is computed.")
    assert (job.result, job.result_url) == ({"ratings": 14, "raters": 3, "scales": 2}, "/studies/grief/agreement/")
    snapshot = latest_snapshot(study=rated, selection=EVERYTHING, **QUICK)
    assert SnapshotRequest.objects.get(job=job).snapshot == snapshot
    assert snapshot.created_by == rosa


def test_one_that_waits_is_given_to_everybody_who_asks(rated, rosa, ada):
    job = request(rated, rosa)
    assert request(rated, ada) == job
    assert open_request(study=rated, selection=EVERYTHING, **QUICK).job == job
    assert request_snapshot(study=rated, selection=EVERYTHING, by=ada, resamples=20) != job
    assert open_request(study=rated, selection=DataSelection(with_excluded=True), **QUICK) is None
    run(job)
    assert open_request(study=rated, selection=EVERYTHING, **QUICK) is None
    assert request(rated, rosa) != job


@pytest.mark.parametrize("person", ["emil", "otto"])
def test_who_does_not_work_with_the_study_cannot_ask(rated, person, request):
    with pytest.raises(PermissionDenied):
        request_snapshot(study=rated, selection=EVERYTHING, by=request.getfixturevalue(person))
    assert not Job.objects.exists()


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_who_also_rates_cannot_ask_before_discussion_is_open(rated, person, request):
    user = request.getfixturevalue(person)
    add_rater(study=rated, kind=RaterKind.EXPERT, user=user)
    with pytest.raises(PermissionDenied):
        request_snapshot(study=rated, selection=EVERYTHING, by=user)
    assert not Job.objects.exists()
    rated.discussion_open = True
    rated.save()
    assert request_snapshot(study=rated, selection=EVERYTHING, by=user).owner == user


def test_an_admin_who_rates_reads_no_counts_of_it(rated, rosa, ada, sign_in):
    add_rater(study=rated, kind=RaterKind.EXPERT, user=ada)
    job = run(request(rated, rosa))
    assert job.is_told_to(rosa)
    assert not job.is_told_to(ada)
    assert job.result["ratings"] == 14
    # A number that no date, key or token of the page holds by chance.
    Job.objects.filter(pk=job.pk).update(result={"ratings": 60817})
    assert "60817" not in sign_in(ada).get(f"/jobs/{job.pk}/").content.decode()
    assert "60817" in sign_in(rosa).get(f"/jobs/{job.pk}/").content.decode()


def test_cancelled_in_the_middle_it_stores_nothing(rated, rosa, monkeypatch):
    job = request(rated, rosa)
    inner = snapshots.analyse

    def computed(tables, *given, **named):
        agreement = inner(tables, *given, **named)
        request_cancel(job=job, by=rosa)
        return agreement

    monkeypatch.setattr(snapshots, "analyse", computed)
    assert run(job).state == JobState.CANCELLED
    assert not Snapshot.objects.exists()
    assert SnapshotRequest.objects.get(job=job).snapshot is None


def test_cancelled_before_a_scale_it_computes_no_further(rated, rosa, monkeypatch):
    job = request(rated, rosa)
    monkeypatch.setattr("apps.common.services.jobs.LOOK_EVERY_SECONDS", 0)
    inner = snapshots.analyse
    made = []

    def computed(tables, *given, **named):
        def watched():
            for table in tables:
                made.append(table.key)
                request_cancel(job=job, by=rosa)
                yield table

        return inner(watched(), *given, **named)

    monkeypatch.setattr(snapshots, "analyse", computed)
    assert run(job).state == JobState.CANCELLED
    assert made == [TableKey("main", "warmth-scales", "scale_1")]
    assert not Snapshot.objects.exists()


def test_progress_is_told_scale_by_scale(rated, rosa):
    told = []

    class Listener:
        def step(self, text, total=None, done=0):
            told.append((text, total))

        def advance(self, done):
            told.append(done)

    take_snapshot(study=rated, reporter=Listener(), **QUICK)
    assert told == [
        ("Reading the ratings", None),
        ("Computing agreement, scale by scale", 2),
        0,
        1,
        ("Keeping the figures", None),
    ]


def test_what_a_killed_worker_left_is_done_by_the_next(rated, rosa, monkeypatch):
    """Killed after everything was computed and before it was stored."""
    job = request(rated, rosa)
    monkeypatch.setattr(snapshots, "_kept", lambda *given, **named: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        run_job(pk=job.pk, work=take_requested_snapshot)
    monkeypatch.undo()
    Job.objects.update(alive_at=timezone.now() - timedelta(hours=1))
    assert sweep_jobs() == [job]
    assert not Snapshot.objects.exists()
    assert run(job).state == JobState.DONE
    assert Snapshot.objects.count() == 1


def test_a_worker_that_was_taken_for_dead_stores_nothing_more(rated, rosa, monkeypatch):
    job = request(rated, rosa)
    inner = snapshots.analyse

    def computed(*given, **named):
        Job.objects.filter(pk=job.pk).update(attempts=5)
        return inner(*given, **named)

    monkeypatch.setattr(snapshots, "analyse", computed)
    run_job(pk=job.pk, work=take_requested_snapshot)
    assert not Snapshot.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_who_compute_the_same_at_once_keep_one(rated):
    pks = at_once(*[lambda: take_snapshot(study=rated, **QUICK).pk] * 2)
    assert len(set(pks)) == 1
    assert Snapshot.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_who_ask_at_once_get_one_job(rated, rosa, ada):
    jobs = at_once(lambda: request(rated, rosa).pk, lambda: request(rated, ada).pk)
    assert len(set(jobs)) == 1
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_an_import_that_ends_after_the_mark_makes_it_old(rated, rate, strangers):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    from threading import Event

    began, looked = Event(), Event()

    def importing():
        with transaction.atomic():
            rate(rated, {"expert1": [5, 2, 4]})
            began.set()
            assert looked.wait(10)

    def looking():
        assert began.wait(10)
        rate(strangers, {"expert1": [1, 2, 3]})
        snapshot = take_snapshot(study=rated, **QUICK)
        assert is_current(snapshot)
        looked.set()
        return snapshot

    _none, snapshot = at_once(importing, looking)
    assert not is_current(snapshot)


# --- Old ones -----------------------------------------------------------------------------------------------------


def grown_old(*taken: Snapshot) -> None:
    Snapshot.objects.filter(pk__in=[one.pk for one in taken]).update(updated_at=timezone.now() - timedelta(days=1))


def test_superseded_ones_are_forgotten_when_they_are_no_longer_in_use(rated, rate):
    first = take_snapshot(study=rated, **QUICK)
    rate(rated, {"expert1": [5, 2, 4]})
    second = take_snapshot(study=rated, **QUICK)
    assert set(Snapshot.objects.all()) == {first, second}
    grown_old(first, second)
    rate(rated, {"expert1": [4, 2, 4]})
    third = take_snapshot(study=rated, **QUICK)
    assert list(Snapshot.objects.all()) == [third]


def test_the_latest_of_each_selection_stays_however_old(rated, strangers, rate):
    rate(strangers, {"expert1": [1, 2, 3]})
    kept = [
        take_snapshot(study=rated, **QUICK),
        take_snapshot(study=rated, resamples=20),
        take_snapshot(study=rated, selection=DataSelection(with_excluded=True), **QUICK),
        take_snapshot(study=strangers, **QUICK),
    ]
    grown_old(*kept)
    assert forget_superseded(rated) == 0
    assert set(Snapshot.objects.all()) == set(kept)


def test_what_a_report_was_made_from_stays(rated, rate, rosa):
    first = take_snapshot(study=rated, **QUICK)
    job = Job.objects.create(kind="report.build", task="none", title="Report", owner=rosa)
    report = StoredReport.objects.create(study=rated, snapshot=first, job=job, title="Report", created_by=rosa)
    rate(rated, {"expert1": [5, 2, 4]})
    grown_old(first)
    latest = take_snapshot(study=rated, **QUICK)
    assert set(Snapshot.objects.all()) == {first, latest}
    report.delete()
    assert forget_superseded(rated) == 1
    assert list(Snapshot.objects.all()) == [latest]


def test_a_request_outlives_its_snapshot(rated, rate, rosa):
    job = run(request(rated, rosa))
    grown_old(*Snapshot.objects.all())
    rate(rated, {"expert1": [5, 2, 4]})
    take_snapshot(study=rated, **QUICK)
    assert SnapshotRequest.objects.get(job=job).snapshot is None


# --- Reading ------------------------------------------------------------------------------------------------------


def test_words_and_figures_need_no_live_row(rated, django_assert_num_queries):
    snapshot = take_snapshot(study=rated, **QUICK)
    Rater.objects.filter(study=rated, name="expert1").update(name="anna")
    rated.blocks.update(title="Other")
    view = SnapshotView(Snapshot.objects.light().get(pk=snapshot.pk))
    with django_assert_num_queries(3):
        assert view.rows(dimension="scale_2")
        assert [rater.name for rater in view.raters()] == ["expert1", "expert2", "expert3"]
        assert view.keys() == [TableKey("main", "warmth-scales", f"scale_{number}") for number in (1, 2)]
        assert [table.key for table in view.tables(dimension="scale_2")] == view.keys()[1:]
        scale = view.scale(view.keys()[0])
        assert (scale.framework.name, scale.framework.citation) == ("Warmth Scales", "Made up for the tests")
        assert (scale.framework.version, scale.framework.language) == (1, "en")
        assert (scale.dimension.label, scale.dimension.question) == ("Scale 1", "How much?")
        assert [(point.value, point.text) for point in scale.dimension.points][::4] == [(1.0, ""), (5.0, "")]
        assert (scale.block.title, scale.block.dataset) == ("Main", "Letters")
        assert view.scales()[0] == scale
        assert view.account.ratings.used == 14
        assert view.settings("observed") == Settings(Convention.OBSERVED, 10, rated.seed)


def test_an_unknown_scale_is_no_scale(rated):
    with pytest.raises(KeyError):
        SnapshotView(take_snapshot(study=rated, **QUICK)).scale(TableKey("main", "warmth-scales", "scale_9"))


def test_damaged_bytes_are_refused_in_words(rated):
    snapshot = take_snapshot(study=rated, **QUICK)
    Snapshot.objects.update(data=b"PAR1", results=bytes(snapshot.results)[:50])
    view = SnapshotView(Snapshot.objects.get())
    for read in (view.rows, view.raters, view.keys):
        with pytest.raises(UnreadableError, match="damaged or cut short"):
            read()


def test_damaged_bytes_are_mended_when_it_is_taken_again(rated):
    snapshot = take_snapshot(study=rated, **QUICK)
    rows = SnapshotView(snapshot).rows()
    for damage in ({"data": bytes(snapshot.data)[:-9]}, {"results": b""}):
        Snapshot.objects.update(**damage)
        again = take_snapshot(study=rated, **QUICK)
        assert again.pk == snapshot.pk
        assert SnapshotView(Snapshot.objects.get()).is_whole
        assert SnapshotView(again).rows() == rows
        assert is_current(again)


def test_words_of_another_version_are_refused(rated):
    take_snapshot(study=rated, **QUICK)
    Snapshot.objects.update(account={"raters_left_out": []}, labels={})
    view = SnapshotView(Snapshot.objects.get())
    for read in (lambda: view.account, lambda: view.labels, view.scales):
        with pytest.raises(UnreadableError):
            read()
