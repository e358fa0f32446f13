"""Kinds of failure, how long to wait, and the key that is in nothing."""

import json
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from apps.llm.providers.failures import HIDDEN, LONGEST_KEPT, retry_after, scrubbed, status_failure
from apps.llm.providers.protocol import ErrorKind

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
KEY = 'sk/a"b c+d'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("no key here", "no key here"),
        (f"{KEY}, {KEY}", f"{HIDDEN}, {HIDDEN}"),
        (json.dumps({"key": KEY}), f'{{"key": "{HIDDEN}"}}'),
        (f"?key={quote(KEY)}&k={quote(KEY, safe='')}", f"?key={HIDDEN}&k={HIDDEN}"),
        ("a\x00b\udc00", "a\ufffdb\ufffd"),
    ],
)
def test_the_key_is_in_nothing_that_is_kept(text, kept):
    assert scrubbed(text, KEY) == kept


def test_no_key_and_a_key_too_short_to_be_one_change_nothing():
    assert scrubbed("abc", "") == "abc"
    assert scrubbed("abc", "b") == "abc"


def test_no_more_is_kept_than_can_be_of_use():
    assert len(scrubbed("x" * (LONGEST_KEPT + 5), KEY)) == LONGEST_KEPT
    assert KEY[:5] not in scrubbed("x" * (LONGEST_KEPT - 5) + KEY, KEY)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:30 GMT"}, 90.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:01:30"}, 90.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "soon", "retry-after": "3"}, 3.0),
    ],
)
def test_how_long_to_wait(headers, seconds):
    assert retry_after(headers, now=NOW) == seconds


def test_google_says_in_the_body_how_long_to_wait():
    body = {"error": {"message": "Quota exceeded.", "details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}}
    failure = status_failure(429, json.dumps(body), {})
    assert (failure.kind, failure.retry_after) == (ErrorKind.RATE, 34.5)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"message": "You exceeded your current quota.", "code": "insufficient_quota"}),
        (429, {"message": "You exceeded your current quota.", "type": "insufficient_quota"}),
        (429, {"message": "billing_hard_limit_reached"}),
        (429, {"message": "Quota", "details": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]}),
        (400, {"message": "Your credit balance is too low to access the API."}),
        (403, {"message": "Insufficient credits"}),
        (402, {"message": "Pay."}),
    ],
)
def test_an_empty_account_is_no_passing_matter(status, error):
    assert status_failure(status, json.dumps({"error": error}), {}).kind is ErrorKind.QUOTA


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, {"message": "Rate limit reached", "code": "rate_limit_exceeded"}, ErrorKind.RATE),
        (429, {"message": "You exceeded your current quota, please check your plan."}, ErrorKind.RATE),
        (500, {"message": "insufficient_quota"}, ErrorKind.PASSING),
        (400, {"message": "API key not valid. Please pass a valid API key."}, ErrorKind.KEY),
        (400, {"message": "too long", "prompt": "I have insufficient funds"}, ErrorKind.REFUSED),
    ],
)
def test_what_is_no_empty_account(status, error, kind):
    assert status_failure(status, json.dumps({"error": error}), {}).kind is kind


FLAGGED = {"reasons": ["self-harm"], "flagged_input": "I have no access to my account", "provider_name": "OpenAI"}


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (403, {"code": 403, "message": "Access to this input was flagged", "metadata": FLAGGED}),
        (400, {"code": 400, "message": "API key not valid, it says", "metadata": FLAGGED}),
        (403, {"message": "openai/gpt-4o requires moderation on OpenAI. Your input was flagged for “self-harm”."}),
        (403, {"message": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_VIOLENCE"}),
        (400, {"code": "content_policy_violation", "message": "Your request was rejected by our safety system."}),
        (400, {"code": "content_filter", "message": "The response was filtered: see our content management policy."}),
        (400, {"message": "Filtered.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}),
    ],
)
def test_a_text_that_is_not_let_through_says_nothing_of_the_key(status, error):
    failure = status_failure(status, json.dumps({"error": error}), {})
    assert failure.kind is ErrorKind.REFUSED
    assert error["message"] in failure.message


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (403, {}),
        (403, {"message": "Forbidden"}),
        (403, {"message": "This key has no permission to use the moderation endpoint."}),
        (403, {"message": "Your account was flagged and its access was ended for violating our usage policies."}),
        (403, {"status": "PERMISSION_DENIED", "message": "The caller does not have permission"}),
        (403, {"message": "Key limit exceeded", "metadata": {"provider_name": "OpenAI"}}),
        (401, {"message": "Input was flagged", "metadata": FLAGGED}),
    ],
)
def test_what_speaks_of_key_or_permission_concerns_every_request(status, error):
    assert status_failure(status, json.dumps({"error": error}), {}).kind is ErrorKind.KEY


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        ("Try again", " It says: Try again"),
        ('{"detail": "No such model"}', " It says: No such model"),
        ('{"error": "No such model"}', " It says: No such model"),
        ('[{"error": {"message": "No such model"}}]', " It says: No such model"),
        ('{"error": {"message": 3}}', ""),
        ("<html>...</html>", ""),
        ("x" * 3000, f" It says: {'x' * 500}…"),
    ],
)
def test_the_servers_own_words(text, said):
    message = status_failure(404, text, {}).message
    assert message == f"The server has nothing at this address, or no such model (status 404).{said}"
