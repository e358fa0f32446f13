"""The agreement page: who may see it, how its figures stand, what it shows, and its addresses."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from apps.common.models import Job, JobState, WorkerHeartbeat
from apps.common.services.jobs import request_cancel, run_job
from apps.dashboard.agreement.tables import GROUP_COLUMNS
from apps.dashboard.services import agreement as standings
from apps.dashboard.views import agreement
from apps.reliability.agreement import COLUMNS
from apps.reliability.models import Snapshot, SnapshotRequest
from apps.reliability.selection import DataSelection
from apps.reliability.services.snapshots import request_snapshot, take_requested_snapshot
from apps.studies.models import Assignment, AssignmentState, Block, BlockFramework, Item, ItemRole, RaterKind, Study
from apps.studies.services.exclusions import exclude
from apps.studies.services.people import join_as_rater, leave_as_rater
from tests.conftest import make_dataset, make_framework, make_study
from tests.dashboard.agreement_world import RATINGS, add, compute, rate

pytestmark = pytest.mark.django_db

PAGE = "/studies/warm/agreement/"
CSV = f"{PAGE}agreement.csv"
COMPUTE = f"{PAGE}compute/"
PICTURE = f"{PAGE}figures/benchmark.svg"
SEEN = [PAGE, CSV, PICTURE]


@pytest.fixture
def study(rosa) -> Study:
    """Five items on two scales of one framework, rated by three experts and a model; nothing is computed."""
    dataset = make_dataset("warm-talks", conversations=5, owner=rosa)
    for number, conversation in enumerate(dataset.conversations.order_by("position")):
        conversation.metadata = {"topic": "grief" if number < 3 else "work", "id": f"talk {number} " * 30}
        conversation.save()
    study = make_study("warm", owner=rosa, dataset=dataset, frameworks=[make_framework()])
    add(study, "gpt")
    for scale, values in RATINGS.items():
        rate(study, values, dimension=scale)
    return study


@pytest.fixture
def computed(study) -> Study:
    compute(study)
    return study


@pytest.fixture
def slow(monkeypatch) -> None:
    """As for a study whose figures take longer than a click may."""
    monkeypatch.setattr(standings, "computes_quickly", lambda study: False)
    monkeypatch.setattr(agreement, "computes_quickly", lambda study: False)


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def shown(page) -> str:
    """The figures of a page, without what there is to choose from."""
    return page.text.split("</form>", 1)[1]


def tables(page) -> str:
    """What comes after the pictures."""
    return page.text.split('id="table-heading"', 1)[1]


def cells(page, scale: str) -> list[str]:
    """The cells of a scale's first row, as one reads them."""
    row = re.search(rf'<tr[^>]*>\s*<th scope="row">(?:(?!</th>).)*{scale}.*?</tr>', tables(page), re.S)
    assert row is not None
    found = re.findall(r"<td[^>]*>(.*?)</td>", row[0], re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in found]


def number(cell: str) -> float:
    return float(cell.split()[0].replace("−", "-"))


# --- Who may --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", SEEN)
def test_nobody_signed_in_is_sent_to_the_sign_in_page(sign_in, computed, address):
    answer = sign_in(None).get(address)
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("accounts:sign-in"))


@pytest.mark.parametrize("address", SEEN)
def test_to_strangers_and_raters_it_is_not_there(sign_in, computed, emil, otto, address):
    join_as_rater(study=computed, user=emil, kind=RaterKind.EXPERT)
    for person in (emil, otto):
        assert sign_in(person).get(address).status_code == 404
        assert sign_in(person).post(COMPUTE).status_code == 404
    assert not SnapshotRequest.objects.exists()


@pytest.mark.parametrize("address", SEEN)
def test_who_works_with_the_study_sees_it(sign_in, computed, rosa, ada, address):
    for person in (rosa, ada):
        assert sign_in(person).get(address).status_code == 200


@pytest.mark.parametrize("address", SEEN)
def test_who_rates_in_the_study_is_told_why_there_is_nothing_to_see(client, computed, rosa, address):
    join_as_rater(study=computed, user=rosa, kind=RaterKind.EXPERT)
    answer = client.get(address)
    assert answer.status_code == 403
    assert "until discussion is open or you give up rating" in answer.text
    assert reverse("studies:rating-leave", args=["warm"]) in answer.text
    assert not re.search(r"0\.\d\d", answer.text)
    assert client.post(COMPUTE).status_code == 403
    assert not SnapshotRequest.objects.exists()
    leave_as_rater(study=computed, user=rosa)
    assert client.get(address).status_code == 200


def test_once_discussion_is_open_who_rates_sees_it_too(client, computed, rosa):
    join_as_rater(study=computed, user=rosa, kind=RaterKind.EXPERT)
    Study.objects.update(discussion_open=True)
    answer = client.get(PAGE)
    assert answer.status_code == 403
    assert "scores are sealed" in answer.text
    Study.objects.update(model_scores_sealed=False)
    assert client.get(PAGE).status_code == 200


def test_each_address_has_its_method(client, computed):
    for address in SEEN:
        assert client.post(address).status_code == 405
    assert client.get(COMPUTE).status_code == 405


def test_the_way_there_is_offered_to_whoever_may_see_ratings(client, sign_in, study, rosa, emil):
    assert f'href="{PAGE}"' in client.get("/studies/warm/").text
    assert f'href="{PAGE}"' in client.get("/").text
    join_as_rater(study=study, user=rosa, kind=RaterKind.EXPERT)
    assert f'href="{PAGE}"' not in client.get("/studies/warm/").text
    assert f'href="{PAGE}"' not in client.get("/").text
    join_as_rater(study=study, user=emil, kind=RaterKind.EXPERT)
    assert f'href="{PAGE}"' not in sign_in(emil).get("/").text


# --- How the figures stand ------------------------------------------------------------------------------------------


def test_without_ratings_the_page_teaches_the_next_step(client, grief):
    page = client.get("/studies/grief/agreement/")
    assert "No finished ratings yet" in page.text
    assert f'href="{reverse("studies:raters", args=["grief"])}"' in page.text
    assert f'href="{reverse("rating:upload", args=["grief"])}"' in page.text
    assert "Compute</button>" not in page.text


def test_drafts_are_no_ratings(client, grief):
    rate(grief, {"expert1": [1, 2, 3]})
    for item in Item.objects.all():
        grief.raters.get(name="expert1").assignments.create(
            item=item, position=item.position, state=AssignmentState.IN_PROGRESS
        )
    assert "No finished ratings yet" in client.get("/studies/grief/agreement/").text


def test_what_was_never_computed_is_computed_on_request_only(client, study, slow):
    page = client.get(PAGE)
    assert "Not computed yet" in page.text
    assert "Compute</button>" in page.text
    assert not SnapshotRequest.objects.exists()
    assert client.get(CSV)["Location"] == PAGE
    assert client.get(PICTURE).status_code == 404


def test_what_takes_but_a_moment_is_computed_at_once_and_kept(client, study):
    assert cells(client.get(PAGE), "Scale 1")
    assert cells(client.get(f"{PAGE}?meta.topic=grief"), "Scale 1")
    client.get(PAGE)
    assert Snapshot.objects.count() == 2
    assert not SnapshotRequest.objects.exists()
    rate(study, {"gpt": [1, 2, 3, 4, 5]})
    assert "Recompute</button>" in client.get(PAGE).text
    assert Snapshot.objects.count() == 2
    assert client.post(COMPUTE)["Location"] == PAGE
    assert "Recompute</button>" not in client.get(PAGE).text
    assert Snapshot.objects.count() == 3
    assert not SnapshotRequest.objects.exists()


def test_a_file_of_what_was_never_computed_is_computed_too(client, study):
    assert rows_of(client, "")
    assert "svg" in client.get(PICTURE)["Content-Type"]


def test_a_selection_without_ratings_says_so_at_once(client, study):
    Item.objects.filter(position__gte=3).update(role=ItemRole.PRACTICE)
    page = client.get(f"{PAGE}?meta.topic=work")
    assert "None of the chosen conversations has a finished rating" in page.text
    assert client.post(f"{COMPUTE}?meta.topic=work").status_code == 302
    assert not SnapshotRequest.objects.exists()


def test_while_the_database_is_busy_a_job_waits_for_it(client, study, monkeypatch):
    def busy(**given):
        raise OperationalError("database is locked")

    monkeypatch.setattr(standings, "take_snapshot", busy)
    assert "Compute</button>" in client.get(PAGE).text
    client.post(COMPUTE)
    assert SnapshotRequest.objects.count() == 1


def test_compute_asks_for_it_once_and_leads_back_to_the_view(client, study, slow):
    address = f"{COMPUTE}?group=llms&meta.topic=grief&convention=observed"
    for _ in range(2):
        answer = client.post(address)
        assert answer["Location"] == f"{PAGE}?group=llms&meta.topic=grief&convention=observed"
    asked = SnapshotRequest.objects.get()
    assert DataSelection.from_dict(asked.selection) == DataSelection.of({"meta.topic": ["grief"]})
    assert asked.job.back_url == answer["Location"]


def computing(study, user, **changes) -> Job:
    job = request_snapshot(study=study, selection=DataSelection(), by=user)
    Job.objects.filter(pk=job.pk).update(**changes)
    return Job.objects.get(pk=job.pk)


def test_while_it_is_computed_the_page_asks_how_far_it_is(client, study, rosa):
    computing(study, rosa)
    page = client.get(PAGE)
    assert f'hx-get="{PAGE}" hx-trigger="every 1s" hx-target="#standing"' in page.text
    assert "waiting for a worker" in page.text
    assert "no worker seen" not in page.text
    assert '<noscript><meta http-equiv="refresh"' in page.text
    assert "Compute</button>" not in page.text


def test_a_running_job_tells_how_far_it_is_and_only_its_part_is_sent(client, study, rosa):
    computing(study, rosa, state=JobState.RUNNING, step="Computing agreement", done=1, total=2, alive_at=timezone.now())
    part = client.get(PAGE, headers={"HX-Request": "true", "HX-Target": "standing"})
    assert part.text.strip().startswith('<div id="standing" hx-get')
    assert "Computing agreement: 1 of 2" in part.text
    assert "<form" not in part.text


@pytest.mark.parametrize(("seen_before", "told"), [(None, True), (31, True), (2, False)])
def test_without_a_worker_the_page_says_so(client, study, rosa, seen_before, told):
    """CASES 6."""
    computing(study, rosa, created_at=timezone.now() - timedelta(seconds=31))
    if seen_before is not None:
        seen_at = timezone.now() - timedelta(seconds=seen_before)
        WorkerHeartbeat.objects.create(worker="accord@here", process_id=1, seen_at=seen_at)
    assert ("Queued, no worker seen for 30 s." in client.get(PAGE).text) is told


def test_once_it_is_computed_the_whole_page_takes_the_place_of_its_part(client, study, rosa):
    job = computing(study, rosa)
    run_job(pk=job.pk, work=take_requested_snapshot)
    answer = client.get(PAGE, headers={"HX-Request": "true", "HX-Target": "standing"})
    assert answer["HX-Retarget"] == "#agreement"
    assert answer.text.strip().startswith('<div id="agreement">')
    assert "Scale 1" in shown(answer)
    assert "hx-trigger" not in answer.text


def test_computed_figures_say_what_they_were_made_from(client, computed, rosa):
    exclude(rater=add(computed, "expert9", RaterKind.EXPERT), explanation="asleep", by=rosa)
    snapshot = compute(computed)
    words = " ".join(re.sub(r"<[^>]+>", " ", shown(client.get(PAGE))).split())
    assert "UTC from 5 items, 4 raters, 40 ratings" in words
    assert "1 excluded rater left out" in words
    assert "Weighted kappa on the scale’s declared points." in words
    assert f"1000 resamples, seed {computed.seed}." in words
    assert snapshot.short_hash in words
    assert "They hold for these raters" in words
    assert "Recompute" not in words


def test_blocks_on_the_same_conversations_tell_how_many_there_are(client, wide):
    words = " ".join(re.sub(r"<[^>]+>", " ", shown(client.get(PAGE))).split())
    assert "UTC from 10 items (5 conversations), 6 raters" in words


def test_a_choice_that_leaves_few_items_is_told_with_their_number(client, computed):
    assert "leave few items" not in client.get(PAGE).text
    page = client.get(f"{PAGE}?meta.topic=grief")
    words = " ".join(re.sub(r"<[^>]+>", " ", page.text).split())
    assert "The conversations chosen leave few items: Main n 3." in words


def test_the_same_rows_stand_as_json_at_an_address_that_answers(client, computed):
    page = client.get(f"{PAGE}?framework=warmth-scales&convention=observed")
    address = re.search(r'href="(/api/v1/[^"]*)">As JSON', page.text)[1].replace("&amp;", "&")
    document = client.get(address).json()
    assert {row["framework"] for row in document["rows"]} == {"warmth-scales"}
    assert {row["convention"] for row in document["rows"] if row["convention"]} <= {"observed"}
    file = list(
        csv.DictReader(io.StringIO(b"".join(client.get(f"{CSV}?convention=observed").streaming_content).decode()))
    )
    assert len(document["rows"]) == len(file)
    # The API knows no choice of conversations.
    assert "As JSON" not in client.get(f"{PAGE}?meta.topic=grief").text


def test_stars_are_switched_off_by_the_address(client, computed):
    rate(computed, {"gpt": [1, 2, 3, 4, 5]})
    rate(computed, {"gpt": [5, 4, 2, 2, 1]}, dimension="scale_2")
    compute(computed)
    page = client.get(PAGE)
    assert "<sup>*" in tables(page)
    assert f'href="{PAGE}?stars=0"' in page.text
    without = client.get(f"{PAGE}?stars=0")
    assert "<sup>" not in tables(without)
    assert "p &lt; 0.05" not in tables(without)
    assert '<input type="hidden" name="stars" value="0">' in without.text
    assert cells(without, "Scale 1")[1] == "1.00 1.00 to 1.00 n 5"


def test_when_ratings_have_changed_the_old_figures_stay_and_say_their_age(client, computed):
    before = cells(client.get(PAGE), "Scale 1")
    rate(computed, {"gpt": [1, 2, 3, 4, 5]})
    page = client.get(PAGE)
    assert "they may no longer be what the ratings say" in page.text
    assert "Recompute</button>" in page.text
    assert cells(page, "Scale 1") == before
    compute(computed)
    page = client.get(PAGE)
    assert "Recompute" not in page.text
    assert cells(page, "Scale 1") != before


def test_while_it_is_computed_again_the_old_figures_stay(client, computed, rosa):
    rate(computed, {"gpt": [1, 2, 3, 4, 5]})
    computing(computed, rosa)
    page = client.get(PAGE)
    assert "figures as they were before" in page.text
    assert cells(page, "Scale 1")


def test_a_job_that_failed_says_why_and_is_asked_for_again(client, study, rosa):
    computing(study, rosa, state=JobState.FAILED, message="The disk is full.", finished_at=timezone.now())
    page = client.get(PAGE)
    assert "could not be computed" in page.text
    assert "The disk is full." in page.text
    assert "Try again</button>" in page.text
    compute(study)
    assert "The disk is full." not in client.get(PAGE).text


def test_a_cancelled_job_is_no_error(client, study, rosa):
    request_cancel(job=computing(study, rosa), by=rosa)
    page = client.get(PAGE)
    assert "was cancelled" in page.text
    assert "Try again</button>" in page.text


def test_a_selection_without_ratings_is_told_by_its_job(client, study, slow):
    Item.objects.filter(position__gte=3).update(role=ItemRole.PRACTICE)
    client.post(f"{COMPUTE}?meta.topic=work")
    run_job(pk=Job.objects.get().pk, work=take_requested_snapshot)
    assert "None of the chosen conversations has a finished rating" in client.get(f"{PAGE}?meta.topic=work").text


def test_kept_bytes_that_cannot_be_read_are_no_crash(client, computed):
    Snapshot.objects.update(results=b"cut off")
    page = client.get(PAGE)
    assert page.status_code == 200
    assert "cannot be read" in page.text
    assert client.get(CSV).status_code == 302
    assert client.get(PICTURE).status_code == 404


# --- What is shown --------------------------------------------------------------------------------------------------


def test_a_scale_shows_the_experts_range_and_everybody_with_their_median(client, computed):
    experts, gpt = cells(client.get(PAGE), "Scale 1")
    # By hand: 1 - 1/23, 1 - 2/20 and 1 - 3/23.8 among the experts; 1 - 7/17 with their median.
    assert experts == "0.90 3 pairs, 0.87–0.96"
    assert re.match(r"0\.59 −?\d\.\d\d to \d\.\d\d n 5", gpt)


def test_the_average_of_a_framework_is_that_of_its_scales(client, computed):
    experts, gpt = cells(client.get(PAGE), "Mean of these scales")
    assert experts.endswith("2 scales")
    values = [number(cells(client.get(PAGE), scale)[1]) for scale in ("Scale 1", "Scale 2")]
    assert number(gpt) == pytest.approx(sum(values) / 2, abs=0.011)


def test_groups_show_every_coefficient(client, computed):
    page = client.get(PAGE)
    table = page.text.split('id="groups-heading"')[1]
    assert table.count('data-label="Alpha, interval"') == 2  # the experts on two scales: one model is no group
    for name in ("Alpha, nominal", "AC1", "AC2, quadratic", "Fleiss’ kappa", "ICC(2,1)", "Equal ratings"):
        assert f'data-label="{name}"' in table
    assert table.count("data-label=") == 2 * len(GROUP_COLUMNS)


def test_who_agrees_as_an_expert_does_stands_above_the_figures_with_its_scales(client, computed):
    """The model is below the median expert with the others on both scales (warm, RATINGS)."""
    told = client.get(PAGE).text.split('<section class="attainment"')[1].split("</section>")[0]
    words = " ".join(re.sub(r"<[^>]+>", " ", told).split())
    assert "Warmth Scales gpt 0 of 2 n 5" in words
    assert "Compared on as many conversations as the experts are with each other: n 5" in words
    assert "Reaches the mark on 0 of 2 scales." in words
    assert "tests nothing" in words
    rate(computed, {"gpt": [1, 2, 3, 4, 5]})
    compute(computed)
    told = client.get(f"{PAGE}?convention=observed").text.split('<section class="attainment"')[1].split("</section>")[0]
    assert "Reaches the mark on 1 of 2 scales:" in told
    assert f'href="{PAGE}main/warmth-scales/scale_1/?convention=observed"' in told
    assert "attainment-heading" not in client.get(f"{PAGE}?statistic=bias").text
    assert "attainment-heading" not in client.get(f"{PAGE}?group=experts").text


def test_figures_stand_above_the_tables_with_their_files(client, computed):
    page = client.get(f"{PAGE}?group=experts")
    for name in ("benchmark", "alphas"):
        assert f'href="{PAGE}figures/{name}.svg?group=experts"' in page.text
        assert f'href="{PAGE}figures/{name}.png?group=experts"' in page.text
    assert page.text.count('role="img"') == 4  # two figures, each for a desk and for a phone


def test_a_figure_is_given_as_svg_and_png_of_the_same_view(client, computed):
    drawn = client.get(PICTURE)
    assert drawn["Content-Type"] == "image/svg+xml"
    assert 'filename="warm-benchmark.svg"' in drawn["Content-Disposition"]
    assert "gpt" in drawn.text
    assert "gpt" not in client.get(f"{PICTURE}?group=experts").text
    png = client.get(f"{PAGE}figures/alphas.png")
    assert png["Content-Type"] == "image/png"
    assert png.content.startswith(b"\x89PNG")


@pytest.mark.parametrize("file", ["benchmark.gif", "nothing.svg", "benchmark", "frameworks.svg"])
def test_a_figure_that_there_is_not_is_not_there(client, computed, file):
    """One framework is nothing to compare."""
    assert client.get(f"{PAGE}figures/{file}").status_code == 404


def test_scales_and_raters_lead_to_their_pages_with_the_view(client, computed):
    page = client.get(f"{PAGE}?convention=observed")
    assert f'href="{PAGE}main/warmth-scales/scale_1/?convention=observed"' in page.text
    assert f'href="{PAGE}raters/gpt/?convention=observed"' in page.text


# --- Filters --------------------------------------------------------------------------------------------------------


@pytest.fixture
def wide(computed) -> Study:
    """A second block with a framework of its own, another model, and self-reports."""
    block = Block.objects.create(
        study=computed, slug="more", title="More", position=1, dataset=computed.blocks.get().dataset
    )
    BlockFramework.objects.create(block=block, framework=make_framework("clarity"), position=0)
    for position, conversation in enumerate(block.dataset.conversations.order_by("position")):
        Item.objects.create(block=block, conversation=conversation, position=position)
    add(computed, "claude")
    add(computed, "self", RaterKind.SELF)
    rate(computed, {**RATINGS["scale_1"], "claude": [1, 2, 2, 4, 4], "self": [3, 3, 3, 4, 5]}, block="more")
    compute(computed)
    return computed


def columns(page) -> list[str]:
    head = tables(page).split("<thead>")[1].split("</thead>")[0]
    found = [" ".join(re.sub(r"<[^>]+>", " ", name).split()) for name in re.findall(r"<th.*?</th>", head, re.S)]
    return found[1:]


def frameworks(page) -> list[str]:
    return re.findall(
        r'<th scope="rowgroup"[^>]*><span>(.*?)</span></th>', tables(page).split('id="groups-heading"')[0]
    )


def test_the_usual_view_shows_everything(client, wide):
    page = client.get(PAGE)
    assert columns(page) == ["Experts among themselves", "self", "claude", "gpt"]
    assert "As well as an expert?" in page.text
    assert frameworks(page) == ["Warmth Scales", "Clarity"]


@pytest.mark.parametrize(
    ("query", "of"),
    [("block=more", ["Clarity"]), ("framework=warmth-scales", ["Warmth Scales"]), ("block=main", ["Warmth Scales"])],
)
def test_a_block_or_a_framework_leaves_only_its_scales(client, wide, query, of):
    page = client.get(f"{PAGE}?{query}")
    assert frameworks(page) == of
    assert {row["block"] for row in rows_of(client, query)} == {"more" if of == ["Clarity"] else "main"}


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("group=llms", ["claude", "gpt"]),
        ("group=selves&group=llms", ["self", "claude", "gpt"]),
        ("group=experts", []),
        ("rater=gpt", ["gpt"]),
        ("group=llms&rater=gpt&rater=self", ["gpt"]),
    ],
)
def test_groups_and_raters_leave_only_their_columns_and_the_experts_as_the_yardstick(client, wide, query, left):
    assert columns(client.get(f"{PAGE}?{canonical(query)}")) == ["Experts among themselves", *left]


def canonical(query: str) -> str:
    """As the page writes it."""
    order = ["experts", "crowd", "llms", "selves"]
    parts = query.split("&")
    groups = sorted((part for part in parts if part.startswith("group")), key=lambda part: order.index(part[6:]))
    return "&".join([*groups, *sorted(part for part in parts if part.startswith("rater"))])


def test_all_pairs_on_request_one_framework_on_a_page(client, wide):
    page = client.get(f"{PAGE}?pairs=all")
    assert "Page 1 of 2" in page.text
    assert columns(page) == ["Scale 1", "Scale 2", "Mean"]
    assert "<bdi>median of the experts without expert1</bdi>" in page.text
    following = re.search(r'rel="next" href="([^"]+)"', page.text)
    assert following is not None
    assert following[1] == f"{PAGE}?pairs=all&amp;page=2"
    page = client.get(f"{PAGE}?pairs=all&page=2")
    assert columns(page) == ["Scale 1"]
    assert "claude" in shown(page)
    # Beyond the last page is the last one.
    assert shown(client.get(f"{PAGE}?pairs=all&page=9")).count("claude") == shown(page).count("claude")


def test_all_pairs_of_a_rater_are_those_they_take_part_in(client, wide):
    text = tables(client.get(f"{PAGE}?block=more&rater=claude&pairs=all")).split("</thead>")[1].split("</table>")[0]
    pairs = [re.findall(r"<bdi>(.*?)</bdi>", row) for row in re.findall(r'<th scope="row">.*?</th>', text, re.S)]
    assert pairs
    assert all("claude" in pair for pair in pairs)


def test_a_statistic_is_chosen(client, computed):
    page = client.get(f"{PAGE}?statistic=mae")
    assert "Mean absolute difference</h2>" in page.text
    assert "No test goes with this statistic" in page.text
    assert 'shade-1"' not in shown(page)
    assert cells(page, "Scale 1") != cells(client.get(PAGE), "Scale 1")


def test_metadata_and_exclusions_change_the_data_and_are_computed_by_themselves(client, computed, rosa, slow):
    exclude(rater=computed.raters.get(name="expert3"), explanation="asleep", by=rosa)
    compute(computed)
    for query in ("meta.topic=grief", "excluded=1"):
        assert "figures are computed and kept by themselves" in client.get(f"{PAGE}?{query}").text
    compute(computed, DataSelection.of({"meta.topic": ["grief"]}))
    compute(computed, DataSelection.of(with_excluded=True))
    assert " n 3" in cells(client.get(f"{PAGE}?meta.topic=grief"), "Scale 1")[1]
    assert cells(client.get(PAGE), "Scale 1")[0].endswith("1 pair")
    page = client.get(f"{PAGE}?excluded=1")
    assert "3 pairs" in cells(page, "Scale 1")[0]
    assert "what is excluded takes part" in page.text


def test_only_metadata_of_few_values_are_offered(client, computed):
    page = client.get(PAGE)
    assert 'name="meta.topic" value="grief"' in page.text
    assert 'name="meta.id"' not in page.text


def test_repeated_items_are_shown_on_request(client, computed):
    block = computed.blocks.get()
    for item in list(block.items.all()):
        Item.objects.create(
            block=block, conversation=item.conversation, position=10 + item.position, role=ItemRole.REPEAT
        )
    rate(computed, {"expert1": [1, 2, 3, 4, 4]}, role=ItemRole.REPEAT)
    compute(computed)
    assert "rated twice</h2>" not in client.get(PAGE).text
    page = client.get(f"{PAGE}?repeats=1")
    table = page.text.split('id="retest-heading"')[1]
    assert table.count('data-label="Rater"') == 1
    assert "expert1" in table
    assert not [row for row in rows_of(client, "") if row["statistic"].startswith("retest")]
    assert [row["a"] for row in rows_of(client, "repeats=1") if row["statistic"] == "retest_mae"] == ["expert1"]


def test_filters_in_force_can_be_taken_back_one_by_one(client, wide):
    page = client.get(f"{PAGE}?block=more&group=llms&rater=gpt&convention=observed")
    chips = re.findall(r'class="chip" href="([^"]+)"', page.text)
    assert [chip.replace("&amp;", "&").removeprefix(PAGE) for chip in chips] == [
        "?group=llms&rater=gpt&convention=observed",
        "?block=more&rater=gpt&convention=observed",
        "?block=more&group=llms&convention=observed",
    ]
    assert f'<a href="{PAGE}?convention=observed" hx-get="{PAGE}?convention=observed"' in page.text
    assert 'class="chip"' not in client.get(PAGE).text


def test_nothing_that_fits_is_said_in_words(client, wide):
    page = client.get(f"{PAGE}?group=selves&rater=gpt&pairs=all")
    assert "Nothing to compare here" in page.text


# --- Addresses ------------------------------------------------------------------------------------------------------


def test_a_view_has_one_address(client, computed):
    answer = client.get(PAGE, {"block": "", "statistic": "kappa_quadratic", "rater": "gpt", "threshold": "0.60"})
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}?rater=gpt")
    assert client.get(f"{PAGE}?rater=gpt").status_code == 200


def test_htmx_gets_the_part_and_is_told_the_address(client, computed):
    part = client.get(PAGE, {"block": "", "rater": "gpt"}, headers={"HX-Request": "true", "HX-Target": "agreement"})
    assert part.status_code == 200
    assert part["HX-Push-Url"] == f"{PAGE}?rater=gpt"
    assert part.text.strip().startswith('<div id="agreement">')
    assert "<html" not in part.text
    whole = client.get(f"{PAGE}?rater=gpt")
    assert "<html" in whole.text
    assert "HX-Request" in whole["Vary"]


def test_a_wrong_value_is_named_and_nothing_is_computed_for_it(client, computed):
    page = client.get(f"{PAGE}?block=mian&threshold=2&colour=red")
    assert page.status_code == 200
    assert "block “mian” is not known here, and was left out; expected one of main." in page.text
    assert "threshold “2” cannot be, and was left out; expected a number from 0 to 1." in page.text
    assert "colour is no filter here" in page.text
    assert cells(page, "Scale 1") == cells(client.get(PAGE), "Scale 1")
    assert not SnapshotRequest.objects.exists()


def test_a_script_in_the_address_is_shown_as_text(client, computed):
    """CASES 35."""
    page = client.get(PAGE, {"block": "<script>alert(1)</script>", "<script>alert(2)": "x"})
    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text


def test_more_of_everything_costs_no_more_queries(client, wide, django_assert_max_num_queries):
    client.get(PAGE)
    with django_assert_max_num_queries(100) as before:
        client.get(PAGE)
    for number in range(4):
        add(wide, f"model-{number}")
        block = Block.objects.create(
            study=wide, slug=f"b{number}", title=f"B{number}", position=2 + number, dataset=wide.blocks.first().dataset
        )
        framework = make_framework(f"frame-{number}")
        BlockFramework.objects.create(block=block, framework=framework, position=0)
        for position, conversation in enumerate(block.dataset.conversations.order_by("position")):
            Item.objects.create(block=block, conversation=conversation, position=position)
        rate(wide, {**RATINGS["scale_1"], f"model-{number}": [1, 2, 3, 3, 3]}, block=block.slug)
    compute(wide)
    client.get(PAGE)
    with django_assert_max_num_queries(100) as after:
        page = client.get(PAGE)
    assert "model-3" in shown(page)
    assert len(after) == len(before)


# --- Files ----------------------------------------------------------------------------------------------------------


def rows_of(client, query: str) -> list[dict[str, str]]:
    answer = client.get(f"{CSV}?{query}" if query else CSV)
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_the_file_has_the_rows_of_the_view_in_the_columns_of_the_contract(client, wide):
    answer = client.get(CSV)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="agreement-warm.csv"'
    assert b"".join(answer.streaming_content).decode().splitlines()[0] == ",".join(COLUMNS)
    assert {row["convention"] for row in rows_of(client, "")} == {"", "scale"}
    assert {row["convention"] for row in rows_of(client, "convention=observed")} == {"", "observed"}
    sides = {side for row in rows_of(client, "group=llms") for side in (row["a"], row["b"])}
    assert sides == {"claude", "gpt", "llms", "experts:median", ""}
    assert {row["a"] for row in rows_of(client, "rater=gpt&block=main")} <= {
        "expert1",
        "expert2",
        "expert3",
        "gpt",
        "experts:median",
        "llms",
    }


def test_a_name_that_looks_like_a_formula_is_escaped_in_the_file(client, study):
    """CASES 26."""
    add(study, "=1+1")
    rate(study, {"=1+1": [1, 2, 3, 4, 5]})
    compute(study)
    assert "'=1+1" in {row["b"] for row in rows_of(client, "")}


def test_assignments_of_others_do_not_open_the_page(sign_in, computed, otto):
    Assignment.objects.create(rater=computed.raters.first(), item=Item.objects.first(), position=0)
    assert sign_in(otto).get(PAGE).status_code == 404
