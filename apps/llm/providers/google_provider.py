"""Models of Google through the `google-genai` SDK. Loaded only where the package is installed. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
from google import genai
from google.genai.client import DebugConfig

from apps.llm.addresses import without_version
from apps.llm.prompts import Message
from apps.llm.providers.protocol import Parameters, Target
from apps.llm.providers.sdk_provider import Answer, SdkProvider, Sent, keep_quiet

BASE_URL = "https://generativelanguage.googleapis.com"
API_VERSION = "v1beta"
JSON = "application/json"
ROLES = {"assistant": "model"}

keep_quiet("google_genai")

# The SDK sends further requests by itself unless both are off, and reads the answer before anybody sees it.
_ONE_REQUEST = {
    "automatic_continuation": False,
    "automatic_function_calling": {"disable": True},
    "should_return_http_response": True,
}


class GoogleProvider(SdkProvider):
    """Asks by generateContent, of Google's Gemini API or a server that speaks it."""

    def __init__(self, target: Target, key: str, transport: httpx2.BaseTransport | None = None) -> None:
        super().__init__(target, key, transport)
        options: Any = {
            "base_url": without_version(target.base_url, API_VERSION, "v1") or BASE_URL,
            "api_version": API_VERSION,
            "timeout": max(round(target.timeout_seconds * 1000), 1),
            "httpx_client": self._http,
        }
        # Variables of the SDK would have it replay requests that were written down, or write them down.
        quiet = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
        self._client = genai.Client(vertexai=False, api_key=key or "none", http_options=options, debug_config=quiet)

    def request_body(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None, parameters: Parameters
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "contents": [
                {"parts": [{"text": message.content}], "role": ROLES.get(message.role, message.role)}
                for message in messages
                if message.role != "system"
            ]
        }
        if system := _system(messages):
            body["systemInstruction"] = {"parts": [{"text": system}], "role": "user"}
        body["generationConfig"] = _generation_config(self.target.response_format, schema, parameters)
        return body

    def _send(self, body: dict[str, Any]) -> Sent:
        settings = body["generationConfig"]
        config: Any = {
            "system_instruction": body.get("systemInstruction"),
            "temperature": settings.get("temperature"),
            "max_output_tokens": settings["maxOutputTokens"],
            "seed": settings.get("seed"),
            "response_mime_type": settings.get("responseMimeType"),
            "response_json_schema": settings.get("responseJsonSchema"),
            **_ONE_REQUEST,
        }
        answer: Any = self._client.models.generate_content(
            model=self.target.model, contents=body["contents"], config=config
        )
        return Sent(200, answer.sdk_http_response.body or "")

    def _read(self, found: dict[str, Any]) -> Answer:
        usage = found.get("usageMetadata") or {}
        tokens = (usage.get("promptTokenCount"), _output_tokens(usage))
        blocked = (found.get("promptFeedback") or {}).get("blockReason")
        if blocked and not found.get("candidates"):
            return Answer("", str(blocked), *tokens)
        candidate = found["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
        return Answer(text, str(candidate.get("finishReason") or ""), *tokens)


def _system(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages if message.role == "system")


def _generation_config(form: str, schema: Mapping[str, Any] | None, parameters: Parameters) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if parameters.temperature is not None:
        config["temperature"] = parameters.temperature
    config["maxOutputTokens"] = parameters.max_tokens
    if parameters.seed is not None:
        config["seed"] = parameters.seed
    if form != "none":
        config["responseMimeType"] = JSON
    if schema is not None and form in ("json_schema", "json_object_schema"):
        config["responseJsonSchema"] = dict(schema)
    return config


def _output_tokens(usage: Mapping[str, Any]) -> int | None:
    """Answer and thoughts: both are billed."""
    answer, thoughts = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
    return None if answer is None and thoughts is None else (answer or 0) + (thoughts or 0)
