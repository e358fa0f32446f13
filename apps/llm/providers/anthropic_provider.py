"""Models of Anthropic through the `anthropic` SDK. Loaded only where the package is installed. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anthropic
import httpx2

from apps.llm.addresses import without_version
from apps.llm.prompts import Message
from apps.llm.providers.protocol import Parameters, Target
from apps.llm.providers.sdk_provider import Answer, SdkProvider, Sent, UnreadableAnswer, keep_quiet, timeout_of

BASE_URL = "https://api.anthropic.com"
TOOL_NAME = "answer"

keep_quiet("anthropic")  # ANTHROPIC_LOG


class AnthropicProvider(SdkProvider):
    """Asks by messages. Temperature and seed are never sent: present models refuse the first and know no second."""

    def __init__(self, target: Target, key: str, transport: httpx2.BaseTransport | None = None) -> None:
        super().__init__(target, key, transport)
        self._client = anthropic.Anthropic(
            api_key=key or "none",
            base_url=without_version(target.base_url, "v1") or BASE_URL,
            max_retries=0,
            timeout=timeout_of(target),
            http_client=self._http,
            open_telemetry=False,  # it could carry the texts elsewhere
            webhook_key="",
        )
        self._client._custom_headers = {}  # what ANTHROPIC_CUSTOM_HEADERS says is for no endpoint

    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.target.model, "max_tokens": parameters.max_tokens}
        if system := "\n\n".join(message.content for message in messages if message.role == "system"):
            body["system"] = system
        body["messages"] = [
            {"role": message.role, "content": message.content} for message in messages if message.role != "system"
        ]
        return body | _form(self.target.response_format, schema)

    def _send(self, body: dict[str, Any]) -> Sent:
        # By the client's own `post`, with the answer as it came: what is sent is exactly the body, and an answer that
        # the SDK's models do not know is still kept.
        response = self._client.post("/v1/messages", body=body, cast_to=httpx2.Response)
        return Sent(response.status_code, response.text)

    def _read(self, found: dict[str, Any]) -> Answer:
        blocks = found["content"]
        if not isinstance(blocks, list):
            raise UnreadableAnswer("The server's answer has no list of content blocks.")
        usage = found.get("usage") or {}
        return Answer(
            _text(blocks), str(found.get("stop_reason") or ""), _input_tokens(usage), usage.get("output_tokens")
        )


def _form(form: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema as the form of the answer; for the other forms that ask for JSON, as what a tool takes."""
    if schema is None or form == "none":
        return {}
    if form == "json_schema":
        return {"output_config": {"format": {"type": "json_schema", "schema": dict(schema)}}}
    tool = {"name": TOOL_NAME, "description": "Gives the rating.", "input_schema": dict(schema)}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL_NAME}}


def _text(blocks: list[Any]) -> str:
    """What the tool was given, as JSON, or the text blocks in a row. Thoughts are neither."""
    for block in blocks:
        if block["type"] == "tool_use":
            return json.dumps(block["input"], ensure_ascii=False)
    return "".join(block["text"] for block in blocks if block["type"] == "text")


def _input_tokens(usage: Mapping[str, Any]) -> int | None:
    """Those read anew and those that a cache held; the server counts them apart."""
    if usage.get("input_tokens") is None:
        return None
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)
