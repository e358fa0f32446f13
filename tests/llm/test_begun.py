"""A study with a run, a baseline or a model rater has begun: nothing that their rows stand on goes away."""

import pytest

from apps.corpus.models import Conversation
from apps.llm.models import Baseline, BaselineRule, CallState, PromptExample, RunState
from apps.llm.services.controls import RunError, cancel_run, resume_run, retry_failed, start_run
from apps.studies.models import BlockFramework, Item, RaterKind, Study, StudyStatus
from apps.studies.services.deleting import delete_study
from apps.studies.services.design import DesignError, change_block, remove_block
from apps.studies.services.settings import change_seed
from apps.studies.services.status import StatusError, activate, return_to_draft
from tests.conftest import make_dataset, make_framework
from tests.llm.worlds import answer_all, make_endpoint, make_model_rater, make_run, make_version

pytestmark = pytest.mark.django_db


def a_ready_run(study):
    make_run(study)


def a_cancelled_run(study):
    cancel_run(run=make_run(study), by=None)


def a_model_rater(study):
    make_model_rater(make_version(study), make_endpoint())


def a_baseline(study):
    rater = study.raters.create(name="lexical", kind=RaterKind.BASELINE)
    Baseline.objects.create(study=study, rater=rater, rule=BaselineRule.LEXICAL)


def an_example(study):
    item = Item.objects.filter(block__study=study).first()
    dimension = item.block.frameworks.get().dimensions.first()
    PromptExample.objects.create(version=make_version(study), dimension=dimension, item=item, slot="low", score=1)


BEGINNINGS = [a_ready_run, a_cancelled_run, a_model_rater, a_baseline]


def as_draft(study):
    """As it could once come about."""
    Study.objects.filter(pk=study.pk).update(status=StudyStatus.DRAFT)
    return Study.objects.get(pk=study.pk)


def changed(block, **changes):
    plan = {
        "slug": block.slug,
        "title": block.title,
        "dataset": block.dataset,
        "frameworks": [*block.frameworks.all()],
        "groups": {},
        "sample_size": 2,
    }
    return change_block(block=block, by=None, **plan | changes)


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_study_with_models_or_baselines_does_not_go_back_to_a_draft(grief, sign_in, rosa, begin):
    begin(grief)
    assert grief.has_begun()
    with pytest.raises(StatusError, match="Raters or models have begun"):
        return_to_draft(study=grief, by=rosa)
    client = sign_in(rosa)
    assert "can no longer be a draft" in client.get("/studies/grief/draft/").text
    assert client.post("/studies/grief/draft/").status_code == 422
    assert "/studies/grief/draft/" not in client.get("/studies/grief/").text
    assert Study.objects.get(pk=grief.pk).status == StudyStatus.ACTIVE


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_draft_that_has_models_is_not_deleted_and_keeps_its_seed(grief, sign_in, rosa, begin):
    begin(grief)
    draft = as_draft(grief)
    with pytest.raises(DesignError, match="models were set to rate"):
        delete_study(study=draft, by=rosa)
    with pytest.raises(DesignError, match="The seed stays"):
        change_seed(study=draft, seed=77, by=rosa)
    response = sign_in(rosa).post("/studies/grief/delete/", {"confirm": "grief"})
    assert response.status_code == 422
    assert Study.objects.filter(pk=grief.pk).exists()


@pytest.mark.parametrize("begin", [a_ready_run, a_cancelled_run, an_example])
def test_a_block_that_a_model_was_asked_about_or_shown_keeps_its_items(grief, sign_in, rosa, begin):
    begin(grief)
    block = as_draft(grief).blocks.get()
    items = [*block.items.order_by("pk").values_list("pk", flat=True)]
    with pytest.raises(DesignError, match="models were asked about it or shown it"):
        remove_block(block=block, by=rosa)
    with pytest.raises(DesignError, match="models were asked about it or shown it"):
        changed(block)
    with pytest.raises(DesignError, match="has ratings"):
        delete_study(study=block.study, by=rosa)
    assert sign_in(rosa).post("/studies/grief/blocks/main/remove/", {"confirm": "main"}).status_code == 422
    # What the dataset has become meanwhile is not taken in.
    Conversation.objects.create(dataset=block.dataset, external_id="late", position=9, content_hash="late")
    activate(study=block.study, by=rosa)
    assert [*block.items.order_by("pk").values_list("pk", flat=True)] == items


def test_prompts_and_endpoints_alone_leave_a_study_as_free_as_before(grief, rosa):
    make_version(grief)
    make_endpoint()
    assert not grief.has_begun()
    draft = return_to_draft(study=grief, by=rosa)
    changed(draft.blocks.get())
    assert draft.blocks.get().items.count() == 2
    draft = return_to_draft(study=activate_again(draft, rosa), by=rosa)
    change_seed(study=draft, seed=77, by=rosa)
    remove_block(block=draft.blocks.get(), by=rosa)
    delete_study(study=draft, by=rosa)
    assert not Study.objects.filter(slug="grief").exists()


def activate_again(study, by):
    study.blocks.get().groups.create(kind=RaterKind.EXPERT)
    return activate(study=study, by=by)


def test_blocks_nobody_has_asked_about_can_still_change_in_a_draft(grief, framework, rosa):
    diaries = make_dataset("diaries")
    other = grief.blocks.create(slug="other", title="Other", position=7, dataset=diaries)
    BlockFramework.objects.create(block=other, framework=framework, position=0)
    make_run(grief, items=Item.objects.filter(block__slug="main"))
    as_draft(grief)
    changed(other, sample_size=1)
    assert other.items.count() == 1
    remove_block(block=other, by=rosa)
    assert [*grief.blocks.values_list("slug", flat=True)] == ["main"]


# --- Runs whose frameworks have gone ----------------------------------------------------------------------------------


def take_from_block(run):
    BlockFramework.objects.filter(block__study=run.study).update(framework=make_framework("other-scales"))


def take_from_version(run):
    run.model_rater.version.frameworks.set([make_framework("other-scales")])


ASKS_FOR = r"^The run asks for .*, which its blocks or its prompt no longer have: cancel it, and make a new run\.$"


@pytest.mark.parametrize("take", [take_from_block, take_from_version])
def test_a_run_whose_frameworks_have_gone_does_not_start(grief, rosa, take):
    run = make_run(grief)
    take(run)
    with pytest.raises(RunError, match=ASKS_FOR):
        start_run(run=run, by=rosa)
    run.state = RunState.PAUSED
    run.save()
    with pytest.raises(RunError, match=ASKS_FOR):
        resume_run(run=run, by=rosa)
    run.refresh_from_db()
    assert (run.state, run.started_at) == (RunState.PAUSED, None)
    cancel_run(run=run, by=rosa)


@pytest.mark.parametrize("take", [take_from_block, take_from_version])
def test_nor_does_it_ask_again_what_failed(grief, rosa, take):
    run = make_run(grief)
    answer_all(run)
    run.calls.filter(position=0).update(state=CallState.FAILED)
    take(run)
    with pytest.raises(RunError, match=ASKS_FOR):
        retry_failed(run=run, by=rosa)
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_another_framework_of_the_block_keeps_no_run_from_starting(grief, rosa):
    other = make_framework("other-scales")
    run = make_run(grief)
    BlockFramework.objects.create(block=grief.blocks.get(), framework=other, position=5)
    start_run(run=run, by=rosa)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
