"""Models of OpenAI, and of every server that speaks its protocol, through the `openai` SDK. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
import openai

from apps.llm.prompts import Message
from apps.llm.providers.failures import scrubbed, status_failure
from apps.llm.providers.protocol import Parameters, Target
from apps.llm.providers.sdk_provider import Answer, SdkProvider, Sent, UnreadableAnswer, keep_quiet, timeout_of

BASE_URL = "https://api.openai.com/v1"
SCHEMA_NAME = "answer"

keep_quiet("openai")  # OPENAI_LOG


class OpenAIProvider(SdkProvider):
    """Asks by chat completions. What a server takes as the form of the answer, the target says."""

    def __init__(self, target: Target, key: str, transport: httpx2.BaseTransport | None = None) -> None:
        super().__init__(target, key, transport)
        # All is given, always: the SDK takes from the environment what is not.
        self._client = openai.OpenAI(
            api_key=key or "none",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=target.base_url or BASE_URL,
            max_retries=0,
            timeout=timeout_of(target),
            http_client=self._http,
        )
        # None cannot be given, and these variables have no argument: whose account it is, the key alone says.
        self._client.admin_api_key = self._client.organization = self._client.project = None
        self._client._custom_headers = {}

    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.target.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            self.target.max_tokens_name: parameters.max_tokens,
        }
        if parameters.temperature is not None:
            body["temperature"] = parameters.temperature
        if parameters.seed is not None:
            body["seed"] = parameters.seed
        if form := _response_format(self.target.response_format, schema):
            body["response_format"] = form
        return body

    def _send(self, body: dict[str, Any]) -> Sent:
        # By the client's own `post`, with the answer as it came: building the SDK's models of request and answer takes
        # as much time as all the rest of a request, and what is sent is then exactly the body.
        response = self._client.post("/chat/completions", body=body, cast_to=httpx2.Response)
        return Sent(response.status_code, response.text)

    def _read(self, found: dict[str, Any]) -> Answer:
        self._raise_error_within(found)
        choice = found["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        reason = choice.get("finish_reason") or ""
        if not text and message.get("refusal"):
            reason = "refusal"
        usage = found.get("usage") or {}
        return Answer(text, str(reason), usage.get("prompt_tokens"), usage.get("completion_tokens"))

    def _raise_error_within(self, found: dict[str, Any]) -> None:
        """Some gateways answer 200 with an error inside: of the whole answer, or of its only choice."""
        error = _error_within(found)
        if not error:
            return
        status = _status_of(error)
        if status is None:
            said = error.get("message") if isinstance(error, dict) else error
            raise UnreadableAnswer(f"The server's answer is an error: {said or 'it does not say which'}")
        failure = status_failure(status, scrubbed(json.dumps({"error": error}), self._key), {})
        failure.raw = scrubbed(json.dumps(found), self._key)
        raise failure


def _error_within(found: dict[str, Any]) -> Any:
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    within = first.get("error") if isinstance(first, dict) else None
    return next((error for error in (found.get("error"), within) if error and isinstance(error, dict | str)), None)


def _status_of(error: Any) -> int | None:
    """The HTTP status that an error names as its code; None where it names none."""
    code = str(error.get("code", "")) if isinstance(error, dict) else ""
    return int(code) if len(code) == 3 and code.isascii() and code.isdecimal() and code[0] in "45" else None


def _response_format(form: str, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if form == "json_schema" and schema is not None:
        return {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "strict": True, "schema": dict(schema)}}
    if form == "json_object_schema" and schema is not None:
        return {"type": "json_object", "schema": dict(schema)}
    return {"type": "json_object"} if form == "json_object" else None


def _text(content: Any) -> str:
    """A message's content: a text, none, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text")
