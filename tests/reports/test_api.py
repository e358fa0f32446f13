"""Reports over REST: asked for, followed, downloaded with a token. CASES 33."""

import hashlib

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.services.keys import create_key
from apps.common.models import Job, JobState
from apps.reports.models import StoredReport
from apps.reports.plans import ReportPlan
from apps.studies.models import Rater
from tests.reports.stored import FILES, keep_report

REPORTS = "/api/v1/studies/grief/reports/"


@pytest.fixture
def rated(grief, rate):
    rate(grief, {"expert1": [1, 3, 5], "expert2": [2, 3, 4], "expert3": [1, 4, 4]})
    return grief


@pytest.fixture
def report(rated, rosa):
    return keep_report(rated, rosa)


@pytest.fixture
def token(client):
    """`token(user)`: what a program of that person sends with each request."""

    def of(user) -> dict[str, str]:
        _key, secret = create_key(user=user, name="notebook")
        return {"Authorization": f"Token {secret}"}

    return of


def post(client, headers, **data):
    return client.post(REPORTS, data, content_type="application/json", headers=headers)


def test_a_report_is_asked_for_and_its_files_downloaded(rated, client, token, rosa, django_capture_on_commit_callbacks):
    headers = token(rosa)
    with django_capture_on_commit_callbacks(execute=True):
        answer = post(client, headers, title="By program", formats=["csv", "json"])
    assert answer.status_code == 201, answer.text
    one = client.get(f"{REPORTS}{answer.json()['id']}/", headers=headers).json()
    assert (one["state"], one["title"], one["message"]) == ("done", "By program", "The report is built.")
    assert one["snapshot"]["n_ratings"] == 9
    assert any("expert" in paragraph for paragraph in one["methods"])
    assert len(one["files"]) == 2
    for file in one["files"]:
        got = client.get(file["url"], headers=headers)
        content = b"".join(got.streaming_content)
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert len(content) == file["size"]


def test_nothing_given_is_the_full_report(rated, client, token, rosa):
    answer = post(client, token(rosa))
    assert answer.status_code == 201
    report = StoredReport.objects.get()
    assert report.title == "Agreement in Grief"
    assert ReportPlan.from_dict(report.options) == ReportPlan()
    assert answer.json()["state"] == "queued"
    assert answer.json()["files"] == []
    assert answer.json()["snapshot"] is None


def test_the_same_asked_twice_is_one(rated, client, token, rosa):
    headers = token(rosa)
    assert post(client, headers).json()["id"] == post(client, headers).json()["id"]
    assert Job.objects.count() == 1


def test_every_choice_is_taken(rated, client, token, rosa):
    chosen = {
        "convention": "observed",
        "stars": "none",
        "threshold": 0.3,
        "resamples": 0,
        "parts": ["pairs"],
        "block": "main",
        "framework": "warmth-scales",
        "groups": ["experts"],
        "raters": ["expert1"],
        "metadata": {"meta.topic": ["loss", ""]},
        "with_excluded": True,
        "formats": ["csv"],
        "all_figures": True,
    }
    answer = post(client, token(rosa), **chosen)
    assert answer.status_code == 201, answer.text
    options = answer.json()["options"]
    assert options["selection"] == {"metadata": {"meta.topic": ["", "loss"]}, "with_excluded": True}
    assert options["resamples"] == 0
    for name in (
        "convention",
        "stars",
        "threshold",
        "parts",
        "block",
        "framework",
        "groups",
        "raters",
        "formats",
        "all_figures",
    ):
        assert options["options"][name] == chosen[name]


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"block": "nowhere"}, "block", "nowhere is not used here; expected one of main."),
        ({"raters": ["nobody"]}, "raters", "No rater of the study is called nobody."),
        ({"formats": []}, "formats", "may not be empty"),
        ({"formats": ["exe"]}, "formats", "is not a valid choice"),
        ({"resamples": 10001}, "resamples", "less than or equal to 10000"),
        ({"threshold": 2}, "threshold", "less than or equal to 1"),
        ({"groups": ["trees"]}, "non_field_errors", "Unknown group trees"),
        ({"metadata": {"topic": ["x"]}}, "non_field_errors", "no name to choose by"),
        ({"metdata": {}}, "non_field_errors", "Unknown metdata"),
        ({"title": "x" * 201}, "title", "no more than 200"),
        ({"title": "a\x00"}, "title", "Null characters are not allowed"),
        ({"raters": ["x"] * 5001}, "raters", "no more than 5000 elements"),
        ({"groups": ["x"] * 5001}, "groups", "no more than 5000 elements"),
        ({"metadata": {"meta.x": ["x"] * 5001}}, "metadata", "no more than 5000 elements"),
        ({"stars": "\ud800"}, "detail", "half of a surrogate pair"),
        ({"metadata": {"\ud800": []}}, "detail", "half of a surrogate pair"),
        ({"\ud800": 1}, "detail", "half of a surrogate pair"),
    ],
)
def test_what_cannot_be_is_refused_in_words(rated, client, token, rosa, given, field, words):
    answer = post(client, token(rosa), **given)
    assert answer.status_code == 400
    assert words in str(answer.json()[field])
    assert not StoredReport.objects.exists()


@pytest.mark.parametrize("place", ["", "{pk}/", "{pk}/files/agreement.csv"])
def test_who_reads(report, client, token, sign_in, rosa, ada, emil, otto, place):
    where = REPORTS + place.format(pk=report.pk)
    assert client.get(where).status_code in (401, 403)
    for person, status in ((emil, 404), (otto, 404), (rosa, 200), (ada, 200)):
        answer = client.get(where, headers=token(person))
        assert answer.status_code == status
        if answer.streaming:
            assert b"".join(answer.streaming_content) == FILES["agreement.csv"]
    assert client.put(where, headers=token(rosa)).status_code == 405
    Rater.objects.create(study=report.study, user=rosa, name="expert9", kind="expert")
    hidden = client.get(where, headers=token(rosa))
    assert hidden.status_code == 403
    assert "You rate in this study" in hidden.json()["detail"]


def test_who_asks_for_one(rated, client, token, rosa, emil, otto):
    assert post(client, {}).status_code in (401, 403)
    assert post(client, token(emil)).status_code == 404
    assert post(client, token(otto)).status_code == 404
    Rater.objects.create(study=rated, user=rosa, name="expert9", kind="expert")
    assert post(client, token(rosa)).status_code == 403
    assert not StoredReport.objects.exists()


def test_what_is_another_studys_is_not_there(report, strangers, client, token, ada):
    headers = token(ada)
    for place in (f"{report.pk}/", f"{report.pk}/files/agreement.csv"):
        assert client.get(f"/api/v1/studies/strangers/reports/{place}", headers=headers).status_code == 404


def test_a_file_name_that_no_database_can_look_for_is_not_there(report, client, token, rosa):
    """PostgreSQL knows no NUL."""
    assert client.get(f"{REPORTS}{report.pk}/files/agreement.csv%00", headers=token(rosa)).status_code == 404


@pytest.mark.parametrize("place", ["{}/", "{}/files/agreement.csv"])
def test_a_number_beyond_every_report_is_not_there(report, client, token, rosa, place):
    for number in ("9" * 30, "9" * 4000):
        assert client.get(REPORTS + place.format(number), headers=token(rosa)).status_code == 404


def test_what_is_nested_without_end_is_refused_in_words(rated, client, token, rosa):
    answer = client.post(REPORTS, "[" * 200_000, content_type="application/json", headers=token(rosa))
    assert (answer.status_code, answer.json()) == (400, {"detail": "The JSON is nested too deeply."})


def test_who_has_a_file_is_told_so_and_a_lost_one_is_missed(report, client, token, rosa):
    file = report.files.get(name="agreement.csv")
    where, headers = f"{REPORTS}{report.pk}/files/agreement.csv", token(rosa)
    assert client.get(where, headers=headers | {"If-None-Match": f'"{file.sha256}"'}).status_code == 304
    file.file.storage.delete(file.file.name)
    answer = client.get(where, headers=headers)
    assert answer.status_code == 404
    assert "no longer on this server" in answer.json()["detail"]


def test_a_failed_report_says_why(rated, client, token, rosa):
    headers = token(rosa)
    pk = post(client, headers).json()["id"]
    Job.objects.update(state=JobState.FAILED, message="The pencil broke.")
    one = client.get(f"{REPORTS}{pk}/", headers=headers).json()
    assert (one["state"], one["message"]) == ("failed", "The pencil broke.")


def test_the_list_comes_in_pages_with_a_constant_number_of_queries(report, rated, client, token, rosa):
    headers = token(rosa)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert client.get(f"{REPORTS}?page_size=3", headers=headers).status_code == 200
        return len(asked)

    queries()  # notes that the key was used
    before = queries()
    for number in range(4):
        keep_report(rated, rosa, title=f"More {number}")
    assert queries() == before
    page = client.get(f"{REPORTS}?page_size=3", headers=headers).json()
    assert (page["count"], len(page["results"])) == (5, 3)
    assert page["results"][0]["title"] == "More 3"
