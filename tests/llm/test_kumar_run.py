"""The public study of Kumar et al. 2026: what a model can be asked of it, and where its ratings then stand."""

from io import StringIO

import pytest
from django.core.management import call_command

from apps.annotation.models import Rating
from apps.llm.fake_server import FakeScript, FakeServer
from apps.llm.models import Run, RunState
from apps.llm.services.planning import LeftOut, RunSelection, plan_run
from apps.llm.services.prompting import default_version
from apps.reliability.selection import DataSelection
from apps.reliability.services.reading import SnapshotView
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Rater, Study
from tests.llm.worlds import make_endpoint

pytestmark = pytest.mark.public_data

# Scales of the blocks whose conversations are published: the model is asked once about each conversation and scale.
SCALES = {"empathetic-dialogues": 3, "epitome": 3, "lend-an-ear": 6}


@pytest.fixture
def kumar(db, kumar_folder):
    call_command("import_kumar2026", str(kumar_folder), stdout=StringIO())
    return Study.objects.get(slug="kumar-2026")


def test_150_items_have_text_and_50_are_listed_as_without(kumar):
    plan = plan_run(
        study=kumar,
        version=default_version(study=kumar, by=None),
        endpoint=make_endpoint(),
        samples=1,
        selection=RunSelection(),
    )
    assert len(plan.items) == 150
    assert len({item.conversation_id for item in plan.items}) == 150
    assert {item.block for item in plan.items} == set(SCALES)
    without = [item for item, reason in plan.left_out if reason == LeftOut.NO_TEXT]
    assert len(without) == 50
    assert {item.block for item in without} == {"perceived-empathy"}
    # The crowd's block has the conversations of another once more.
    assert plan.left_out_counts == {"no_text": 50, "twin": 50}
    assert plan.n_calls == 50 * sum(SCALES.values())


def test_a_model_stands_beside_the_published_ones_with_figures(kumar):
    with FakeServer(FakeScript(seed=11)) as server:
        make_endpoint(url=server.url, max_concurrent=16)
        call_command(
            "run_llm_raters", "--study=kumar-2026", "--endpoint=local", "--wait", "--name=fake", stdout=StringIO()
        )
        assert server.stats()["requests"] == 600
    run = Run.objects.get()
    assert run.state == RunState.DONE
    assert run.left_out_counts == {"no_text": 50, "twin": 50}
    rater = Rater.objects.get(name="fake")
    assert Rating.objects.filter(rater=rater).count() == 600
    view = SnapshotView(take_snapshot(study=kumar, selection=DataSelection(), resamples=20))
    published = {"gemini", "gpt", "llama"} & {key.name for key in view.raters()}
    assert published
    rows = view.rows(statistics=["kappa_quadratic"])
    by_pair = {(row.block, row.dimension, frozenset((row.a, row.b))): row.value for row in rows}
    for block, n_scales in SCALES.items():
        scales = {row.dimension for row in rows if row.block == block}
        assert len(scales) == n_scales
        for scale in scales:
            for model in ("fake", *published):
                for expert in ("expert1", "expert2", "expert3"):
                    assert by_pair[block, scale, frozenset((model, expert))] is not None, (block, scale, model, expert)
