"""Tests of endpoints as rows, and what a form of an endpoint takes."""

from typing import Any

from apps.accounts.models import User
from apps.common.models import Job, JobState
from apps.llm.models import Endpoint, EndpointTest
from apps.llm.services.trying import TEST_TASK

GOOD_REPLY = (
    '{"rationale": "It says what is missed.", "evidence": ["the cooking side by side", "never said"], "score": "4"}'
)


def make_test(endpoint: Endpoint, owner: User, *, state: str = JobState.DONE, **fields: Any) -> EndpointTest:
    """A test whose job is in that state, with nothing sent."""
    job = Job.objects.create(
        kind="endpoint.test",
        task=TEST_TASK,
        title=f"Test of the endpoint {endpoint.name}",
        owner=owner,
        state=state,
        message="The model answered as it was asked to.",
    )
    answered = {"latency_ms": 1234, "input_tokens": 700, "output_tokens": 60} if state == JobState.DONE else {}
    return EndpointTest.objects.create(endpoint=endpoint, job=job, **answered | fields)


def typed(**changed: str) -> dict[str, str]:
    """What the form of an endpoint is sent: a server on this machine that needs no key."""
    fields = {
        "name": "local",
        "provider": "openai",
        "base_url": "http://127.0.0.1:8001/v1",
        "model": "small-one",
        "key_variable": "",
        "response_format": "json_schema",
        "max_tokens_name": "max_tokens",
        "takes_temperature": "on",
        "reply_tokens": "800",
        "context_tokens": "",
        "price_input": "",
        "price_output": "",
        "currency": "USD",
        "max_concurrent": "2",
        "requests_per_minute": "",
        "tokens_per_minute": "",
        "timeout_seconds": "60",
    }
    return {name: value for name, value in {**fields, **changed}.items() if value is not None}
