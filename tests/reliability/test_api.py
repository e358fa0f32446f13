import json

import pytest
from django.utils import timezone

from apps.reliability import api
from apps.reliability.agreement import Settings
from apps.reliability.models import Snapshot
from apps.reliability.services.agreements import agreement_of_study, kept_agreement
from apps.reliability.services.snapshots import take_snapshot
from apps.studies.models import Rater, RaterKind
from apps.studies.services.design import add_block
from apps.studies.services.raters import add_rater
from tests.conftest import make_dataset

pytestmark = pytest.mark.django_db

URL = "/api/v1/studies/grief/agreement/"
QUICK = {"bootstrap": 0}


@pytest.fixture
def rated(grief, rate):
    rate(grief, {"expert1": [1, 2, 4], "expert2": [1, 3, 5], "expert3": [2, 2, 5]})
    return grief


def row_of(answer: dict, statistic: str, a: str, b: str = "") -> dict:
    [row] = [row for row in answer["rows"] if (row["statistic"], row["a"], row["b"]) == (statistic, a, b)]
    return row


def test_the_owner_reads_the_rows_of_the_report(rated, rosa, sign_in):
    response = sign_in(rosa).get(URL)
    assert response.status_code == 200
    answer = response.json()
    # Differences 0, 1, 1: their mean is 2/3.
    mae = row_of(answer, "mae", "expert1", "expert2")
    assert mae["value"] == pytest.approx(2 / 3)
    assert mae["ci_low"] <= mae["value"] <= mae["ci_high"]
    assert mae["n_items"] == 3
    meta = answer["meta"]
    assert (meta["study"], meta["convention"], meta["resamples"], meta["seed"]) == ("grief", "scale", 200, rated.seed)
    assert len(meta["data_hash"]) == 64


def test_a_key_reads_as_its_person_does(rated, rosa, client):
    from apps.accounts.models import ApiKey

    key = ApiKey.new_key()
    ApiKey.objects.create(user=rosa, name="laptop", prefix=key[:8], digest=ApiKey.digest_of(key))
    response = client.get(URL, QUICK, headers={"Authorization": f"Token {key}"})
    assert response.status_code == 200


def test_nobody_gets_nothing(rated, sign_in):
    assert sign_in(None).get(URL).status_code == 401


def test_a_rater_gets_nothing(rated, emil, sign_in):
    """CASES 33."""
    assert sign_in(emil).get(URL).status_code == 404


def test_a_stranger_and_a_missing_study_look_alike(rated, otto, sign_in):
    client = sign_in(otto)
    foreign, missing = client.get(URL), client.get("/api/v1/studies/nowhere/agreement/")
    assert (foreign.status_code, foreign.json()) == (missing.status_code, missing.json())
    assert foreign.status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_it_can_only_be_read(rated, rosa, sign_in, method):
    assert getattr(sign_in(rosa), method)(URL).status_code == 405


@pytest.mark.parametrize("person", ["rosa", "ada"])
def test_who_also_rates_is_refused_until_discussion_is_open(rated, person, request, sign_in):
    user = request.getfixturevalue(person)
    add_rater(study=rated, kind=RaterKind.EXPERT, user=user)
    client = sign_in(user)
    refused = client.get(URL, QUICK)
    assert refused.status_code == 403
    assert "once discussion is open" in refused.json()["detail"]
    rated.discussion_open = True
    rated.save()
    assert client.get(URL, QUICK).status_code == 200


def test_who_gave_up_rating_reads(rated, rosa, sign_in):
    add_rater(study=rated, kind=RaterKind.EXPERT, user=rosa)
    Rater.objects.filter(user=rosa).update(left_at=timezone.now())
    assert sign_in(rosa).get(URL, QUICK).status_code == 200


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"convention": "best"}, '"best" is not a valid choice'),
        ({"bootstrap": "many"}, "valid integer"),
        ({"bootstrap": "-1"}, "greater than or equal to 0"),
        ({"bootstrap": "2001"}, "less than or equal to 2000"),
        ({"all_pairs": "perhaps"}, "valid boolean"),
        ({"block": "other"}, "other is not used here; expected one of main"),
        ({"block": "no block"}, "valid"),
        ({"framework": "other"}, "other is not used here; expected one of warmth-scales"),
        ({"bootstraps": "10"}, "Unknown parameter bootstraps; expected one of convention, block,"),
    ],
)
def test_a_bad_parameter_is_answered_with_a_sentence(rated, rosa, sign_in, parameters, sentence):
    response = sign_in(rosa).get(URL, parameters)
    assert response.status_code == 400
    assert sentence in " ".join(text for texts in response.json().values() for text in texts)


def test_parameters_change_what_is_computed(rated, rosa, sign_in):
    client = sign_in(rosa)
    answer = client.get(URL, {"convention": "observed", "bootstrap": 0, "block": "main"}).json()
    kappa = row_of(answer, "kappa_quadratic", "expert1", "expert2")
    assert (kappa["convention"], kappa["ci_low"]) == ("observed", None)
    assert answer["meta"]["options"] == []


def test_all_pairs_and_pooled_models_are_opt_in(rated, rate, rosa, sign_in):
    for name, kind in [("w1", "crowd"), ("w2", "crowd"), ("gpt", "llm"), ("claude", "llm")]:
        add_rater(study=rated, kind=kind, name=name)
    rate(rated, {"w1": [1, 2, 3], "w2": [1, 1, 5], "gpt": [1, 2, 2], "claude": [4, 4, 5]})
    client = sign_in(rosa)
    plain = client.get(URL, QUICK).json()
    full = client.get(URL, QUICK | {"all_pairs": "true", "pool_models": "true"}).json()
    pairs = {(row["a"], row["b"]) for row in plain["rows"]}
    assert ("w1", "w2") not in pairs
    added = {(row["a"], row["b"]) for row in full["rows"]} - pairs
    assert {("w1", "w2"), ("experts:median", "llms:median")} <= added
    assert full["meta"]["options"] == ["all_pairs", "pool_models"]


def test_what_would_take_too_long_is_refused_before_it_is_computed(rated, rosa, sign_in, monkeypatch):
    monkeypatch.setattr(api, "MOST_COMPARISONS", 6)
    client = sign_in(rosa)
    response = client.get(URL, QUICK)
    assert response.status_code == 400
    # Three pairs, three experts with the others' median, one group.
    assert "These are 7 comparisons, and at most 6" in response.json()[0]
    monkeypatch.setattr(api, "MOST_COMPARISONS", 7)
    assert client.get(URL, QUICK).status_code == 200
    assert client.get(URL, {"bootstrap": 400}).status_code == 400


def test_undefined_is_null_with_a_reason_and_the_answer_is_strict_json(grief, rate, rosa, sign_in):
    """CASES 18 and 22."""
    rate(grief, {"expert1": [3, 3, None], "expert2": [3, 3, None], "expert3": [None, None, 1]})
    response = sign_in(rosa).get(URL)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    answer = json.loads(response.content, parse_constant=refuse)
    same = row_of(answer, "kappa_quadratic", "expert1", "expert2")
    assert (same["value"], same["reason"]) == (None, "no variation")
    apart = row_of(answer, "kappa_quadratic", "expert1", "expert3")
    assert (apart["value"], apart["reason"]) == (None, "no shared items")


def test_a_study_without_ratings_has_no_rows(grief, rosa, sign_in):
    assert sign_in(rosa).get(URL).json()["rows"] == []


def test_queries_do_not_grow_with_the_number_of_ratings(grief, rate, rosa, sign_in, django_assert_num_queries):
    client = sign_in(rosa)
    rate(grief, {"expert1": [1, None, None]})
    with django_assert_num_queries(14):
        client.get(URL, QUICK)
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 2, 4], "expert3": [2, 2, 4]})
    rate(grief, {"expert1": [1, 2, 3], "expert2": [1, 2, 4]}, dimension="scale_2")
    with django_assert_num_queries(14):
        client.get(URL, QUICK)
    take_snapshot(study=grief, resamples=0)
    with django_assert_num_queries(21):
        client.get(URL, QUICK)


@pytest.fixture
def kept(rated, rate):
    rate(rated, {"expert1": [1, 2, 4], "expert2": [1, 3, 5]}, dimension="scale_2")
    take_snapshot(study=rated, resamples=100)
    return rated


def answer(client, **asked) -> dict:
    found = client.get(URL, {"bootstrap": 100} | asked).json()
    found["meta"].pop("generated_at")
    return found


@pytest.mark.parametrize("asked", [{}, {"block": "main"}, {"framework": "warmth-scales", "block": "main"}])
@pytest.mark.parametrize("convention", ["scale", "observed"])
def test_a_snapshot_answers_to_the_same_digits(kept, rosa, sign_in, monkeypatch, asked, convention):
    client = sign_in(rosa)
    asked = {"convention": convention} | asked
    with monkeypatch.context() as patch:
        patch.setattr(api, "agreement_of_study", lambda **wanted: pytest.fail("computed"))
        from_snapshot = answer(client, **asked)
    monkeypatch.setattr(api, "kept_agreement", lambda **wanted: None)
    assert answer(client, **asked) == from_snapshot


def test_a_part_of_a_snapshot_is_counted_as_that_part(kept, rate, rosa, framework):
    """Two blocks, of which one is asked for."""
    dataset = make_dataset("poems", conversations=2, owner=rosa)
    block = add_block(study=kept, slug="poems", title="Poems", dataset=dataset, frameworks=[framework])
    rate(kept, {"expert1": [5, 5], "expert2": [4, 5]}, block=block.slug)
    take_snapshot(study=kept, resamples=0)
    settings = Settings(resamples=0, seed=kept.seed)
    for narrowed in ({"block": "poems"}, {"block": "main"}, {"framework": "warmth-scales"}, {}):
        found = kept_agreement(study=kept, settings=settings, **narrowed)
        assert found == agreement_of_study(study=kept, settings=settings, **narrowed)


@pytest.mark.parametrize("asked", [{"bootstrap": 50}, {"all_pairs": "true"}, {"pool_models": "true"}])
def test_other_settings_are_computed(kept, rosa, sign_in, monkeypatch, asked):
    computed = []
    inner = api.agreement_of_study
    monkeypatch.setattr(api, "agreement_of_study", lambda **wanted: computed.append(1) or inner(**wanted))
    answer(sign_in(rosa), **asked)
    assert computed


def test_a_snapshot_that_is_not_of_now_is_not_shown(kept, rate, rosa, sign_in):
    client = sign_in(rosa)
    before = answer(client)
    rate(kept, {"expert1": [5, 2, 4]})
    after = answer(client)
    assert after["meta"]["data_hash"] != before["meta"]["data_hash"]
    assert after["rows"] != before["rows"]


def test_a_damaged_snapshot_is_computed_anew(kept, rosa, sign_in):
    client = sign_in(rosa)
    before = answer(client)
    Snapshot.objects.update(results=b"PAR1")
    assert answer(client) == before


def test_a_snapshot_holds_no_more_comparisons_than_may_be_asked_for(kept, rosa, sign_in, monkeypatch):
    monkeypatch.setattr(api, "MOST_COMPARISONS", 3)
    monkeypatch.setattr(api, "agreement_of_study", lambda **wanted: pytest.fail("computed"))
    response = sign_in(rosa).get(URL, {"bootstrap": 100})
    assert response.status_code == 400
    assert "comparisons, and at most 3" in response.json()[0]
