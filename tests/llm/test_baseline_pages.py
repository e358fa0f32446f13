"""The page of baselines: who sees it, what it says, and that agreement tells baselines from models."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.annotation.models import Rating
from apps.common.models import Job, JobState
from apps.llm.models import Baseline
from apps.llm.services.baselines import compute_baseline, request_baseline
from apps.studies.models import MemberRole, Membership, Rater, RaterKind, StudyStatus
from tests.conftest import make_framework, make_user
from tests.dashboard.agreement_world import add, compute, rate
from tests.llm.test_baselines import computed

PAGE = "/studies/grief/llm/baselines/"
HTMX = {"hx-request": "true"}


@pytest.fixture
def rated(grief):
    rate(grief, {"expert1": [2, 2, 5], "expert2": [2, 3, 5], "expert3": [1, 2, None]})
    return grief


@pytest.fixture
def ruth(grief):
    """A researcher of the study who does not own it."""
    person = make_user("ruth@example.org", "researcher", "Ruth")
    Membership.objects.create(study=grief, user=person, role=MemberRole.RESEARCHER)
    return person


# --- The ladder -------------------------------------------------------------------------------------------------------


def test_who_opens_the_page(rated, sign_in, rosa, ruth, ada, emil, otto):
    assert sign_in(None).get(PAGE).status_code == 302
    assert sign_in(emil).get(PAGE).status_code == 404
    assert sign_in(otto).get(PAGE).status_code == 404
    assert sign_in(otto).get("/studies/no-study/llm/baselines/").status_code == 404
    for person in (rosa, ruth, ada):
        assert sign_in(person).get(PAGE).status_code == 200


def test_who_computes_one(rated, sign_in, rosa, ruth, ada, emil, otto):
    for person, status in [(None, 302), (emil, 404), (otto, 404), (ruth, 403)]:
        assert sign_in(person).post(PAGE, {"rule": "constant"}).status_code == status
    assert not Job.objects.exists()
    for person, rule in [(rosa, "constant"), (ada, "lexical")]:
        answer = sign_in(person).post(PAGE, {"rule": rule})
        assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert Baseline.objects.count() == 2
    assert sign_in(rosa).put(PAGE).status_code == 405


def test_who_rates_sees_nothing_and_computes_nothing(rated, sign_in, rosa):
    computed(rated, "constant", rosa)
    Rater.objects.create(study=rated, user=rosa, name="expert9", kind="expert")
    for answer in (sign_in(rosa).get(PAGE), sign_in(rosa).post(PAGE, {"rule": "lexical"})):
        assert answer.status_code == 403
        assert "hidden from you until discussion is open" in answer.text
        assert "always" not in answer.text
    assert Baseline.objects.count() == 1


@pytest.mark.parametrize("given", [{}, {"rule": ""}, {"rule": "<b>oracle"}])
def test_an_unknown_rule_is_one_sentence(rated, sign_in, rosa, given):
    answer = sign_in(rosa).post(PAGE, given)
    assert answer.status_code == 422
    assert "Rule: expected one of constant, lexical." in answer.text
    assert "oracle" not in answer.text
    assert not Baseline.objects.exists()


def test_a_draft_says_what_comes_first(grief, sign_in, rosa):
    grief.status = StudyStatus.DRAFT
    grief.save()
    page = sign_in(rosa).get(PAGE).text
    assert "Activate it before a baseline rates in it" in page
    assert "Compute" not in page
    assert sign_in(rosa).post(PAGE, {"rule": "constant"}).status_code == 422


# --- What it says -----------------------------------------------------------------------------------------------------


def test_the_page_before_anything_was_computed(rated, sign_in, rosa, ruth):
    page = sign_in(rosa).get(PAGE).text
    assert "Why simple scores mislead" in page
    assert page.count("Compute<span") == 2
    assert "<table" not in page
    other = sign_in(ruth).get(PAGE).text
    assert "Compute<span" not in other
    assert other.count("An owner of the study can compute it") == 2


def test_a_click_computes_and_the_page_shows_every_scale(rated, sign_in, rosa, django_capture_on_commit_callbacks):
    client = sign_in(rosa)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(PAGE, {"rule": "constant"})
    baseline = Baseline.objects.get()
    assert baseline.job.state == JobState.DONE
    page = client.get(PAGE).text
    assert "Compute again" in page
    assert "always 2: 4 of 8 expert ratings" in page
    assert "Main: Warmth Scales" in page
    assert "gives the experts’ median for 67 % of the items on the scale Scale 1" in page
    assert "Left out: no expert has rated it." in page
    # Weighted F1 of two in three is 2/3 x 4/5; agreement 2/3; kappa 0.
    for figure in ("0.00", "0.53", "0.67"):
        assert f'<span class="value">{figure}</span>' in page
    assert "hx-get" not in page.split("<main")[1]


def test_undefined_is_words(grief, sign_in, rosa):
    rate(grief, {"expert1": [3, 3, 3], "expert2": [3, 3, 3]})
    computed(grief, "constant", rosa)
    assert "not defined: no variation" in sign_in(rosa).get(PAGE).text


def test_figures_below_zero_have_a_minus_sign_and_zero_has_none(rated, sign_in, rosa):
    baseline = computed(rated, "constant", rosa)
    figures = baseline.details[0]["figures"]
    figures["kappa"] |= {"value": -0.0513, "ci_low": -0.2613, "ci_high": -0.0013}
    baseline.save()
    page = sign_in(rosa).get(PAGE).text
    assert '<span class="value">−0.05</span>' in page
    assert "−0.26 to 0.00" in page


def test_scales_without_a_rule_are_said_to_have_none(rated, sign_in, rosa):
    computed(rated, "lexical", rosa)
    page = sign_in(rosa).get(PAGE).text
    assert page.count("Left out: there is no rule for it.") == 2


def test_what_may_be_old_says_so(rated, sign_in, rosa):
    computed(rated, "constant", rosa)
    assert "this may be old" not in sign_in(rosa).get(PAGE).text
    rate(rated, {"expert1": [1, None, None]})
    assert sign_in(rosa).get(PAGE).text.count("this may be old") == 1
    computed(rated, "constant", rosa)
    assert "this may be old" not in sign_in(rosa).get(PAGE).text


def test_while_it_is_computed_the_page_asks_again_for_its_part(rated, sign_in, rosa):
    request_baseline(study=rated, rule="constant", by=rosa)
    client = sign_in(rosa)
    page = client.get(PAGE)
    assert f'hx-get="{PAGE}"' in page.text
    assert "Queued" in page.text
    assert page.text.count("Compute<span") == 1
    part = client.get(PAGE, headers=HTMX)
    assert part.text.strip().startswith('<div id="baselines"')
    assert "<html" not in part.text
    assert "HX-Request" in part["Vary"]


def test_the_last_part_announces_the_end(rated, sign_in, rosa):
    computed(rated, "constant", rosa)
    part = sign_in(rosa).get(PAGE, headers=HTMX).text
    assert "hx-swap-oob" in part
    assert "hx-get" not in part


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.CANCELLED])
def test_a_job_that_ended_badly_says_why_and_what_was_computed_stays(rated, sign_in, rosa, state):
    computed(rated, "constant", rosa)
    baseline = request_baseline(study=rated, rule="constant", by=rosa)
    Job.objects.filter(pk=baseline.job.pk).update(state=state, message="It rained <i>in</i>.")
    page = sign_in(rosa).get(PAGE).text
    assert "It rained &lt;i&gt;in&lt;/i&gt;." in page
    assert "always 2: 4 of 8 expert ratings" in page
    assert "Compute again" in page


def test_names_are_escaped(rated, sign_in, rosa):
    block = rated.blocks.get()
    block.title = "<b>Main"
    block.save()
    framework = block.frameworks.get()
    framework.dimensions.update(label="<i>Scale")
    computed(rated, "constant", rosa)
    page = sign_in(rosa).get(PAGE).text
    assert "<b>Main" not in page
    assert "&lt;b&gt;Main: Warmth Scales" in page
    assert "&lt;i&gt;Scale" in page


def test_the_number_of_queries_does_not_grow(rated, sign_in, rosa):
    client = sign_in(rosa)
    for rule in ("constant", "lexical"):
        computed(rated, rule, rosa)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert client.get(PAGE).status_code == 200
        return len(asked)

    queries()
    before = queries()
    block = rated.blocks.get()
    for number in range(4, 9):
        Rater.objects.create(study=rated, name=f"expert{number}", kind="expert")
        rate(rated, {f"expert{number}": [1, 2, 3]})
    for number in range(1, 4):
        framework = make_framework(f"more-{number}", dimensions=5)
        block.block_frameworks.create(framework=framework, position=number)
    for rule in ("constant", "lexical"):
        computed(rated, rule, rosa)
    assert client.get(PAGE).text.count("Left out") > 20
    assert queries() == before


# --- In agreement and exports -----------------------------------------------------------------------------------------


@pytest.fixture
def with_both(rated, rosa):
    """A lexical rating on a scale of no rule would be none: its rater gets values of its own."""
    add(rated, "gpt")
    rate(rated, {"gpt": [2, 4, 5]})
    computed(rated, "constant", rosa)
    lexical = computed(rated, "lexical", rosa).rater
    assert not Rating.objects.filter(rater=lexical).exists()
    rate(rated, {"lexical": [1, 3, 3]})
    compute(rated)
    return rated


def test_agreement_calls_them_baselines_and_never_models(with_both, sign_in, rosa):
    client = sign_in(rosa)
    assert dict(with_both.raters.values_list("name", "kind"))["constant"] == RaterKind.BASELINE
    for address in ("", "?pairs=all", "main/warmth-scales/scale_1/", "raters/"):
        page = client.get(f"/studies/grief/agreement/{address}").text
        for name in ("constant", "lexical"):
            assert name in page, address
            assert "rater--baseline" in page, address
            assert f'rater--llm">{name}' not in page, address
    page = client.get("/studies/grief/agreement/raters/constant/").text
    assert "rater--baseline" in page
    assert "Baseline" in page
    assert "anguage model" not in page


def test_csv_rows_of_the_constant_have_kappa_zero_or_a_reason(with_both, sign_in, rosa):
    text = b"".join(sign_in(rosa).get("/studies/grief/agreement/agreement.csv").streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    found = [row for row in rows if row["statistic"] == "kappa_quadratic" and "constant" in (row["a"], row["b"])]
    assert {"experts:median"} & {row["a"] for row in found} | {row["b"] for row in found}
    for row in found:
        assert float(row["value"]) == 0 if row["value"] else row["reason"]
    llms = [row for row in rows if row["a"].startswith("llms") or row["b"].startswith("llms")]
    assert not any(name in (row["a"], row["b"]) for row in llms for name in ("constant", "lexical"))


def test_the_partial_of_baselines_shows_no_score(rated, rosa):
    from django.template.loader import render_to_string

    computed(rated, "constant", rosa)
    request_baseline(study=rated, rule="lexical", by=rosa)
    rows = Baseline.objects.filter(study=rated).select_related("job", "rater")
    shown = render_to_string("llm/_baselines.html", {"study": rated, "baselines": rows})
    assert PAGE in shown
    assert "Queued" in shown
    assert "not computed yet" in shown
    assert "always" not in shown.split("</p>")[1]
    assert "0." not in shown


def test_compute_baseline_is_the_task_of_its_jobs(rated, rosa):
    baseline = request_baseline(study=rated, rule="constant", by=rosa)
    assert baseline.job.task == "llm.compute_baseline"
    assert baseline.job.is_private
    assert compute_baseline.__module__ == "apps.llm.services.baselines"
