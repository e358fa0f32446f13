"""Three providers whose server is a function, and what a good answer of each looks like."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import httpx2

from apps.llm.answers import AllowedAnswers, scale_schema
from apps.llm.prompts import Message
from apps.llm.providers.anthropic_provider import AnthropicProvider
from apps.llm.providers.google_provider import GoogleProvider
from apps.llm.providers.openai_provider import OpenAIProvider
from apps.llm.providers.protocol import Parameters, Target
from apps.llm.providers.sdk_provider import SdkProvider

KEY = "sk-very/secret+key=01"
ADDRESS = "http://127.0.0.1:9/base"
MESSAGES = (Message("system", "You rate."), Message("user", "Rate this:\n“Hé” 😀"))
SCHEMA = scale_schema(AllowedAnswers("calm", (1.0, 2.0, 3.0), cannot_tell=True))
PARAMETERS = Parameters(max_tokens=321)
TEXT = '{"rationale": "…", "evidence": [], "score": "2"}'


class Kind(NamedTuple):
    """One provider: its class, its name, the path it asks, and the JSON of an answer with a text."""

    make: type[SdkProvider]
    name: str
    path: str
    answer: Callable[[str], dict[str, Any]]


def openai_answer(text: str | None) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 411, "completion_tokens": 23, "total_tokens": 434},
    }


def anthropic_answer(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
        "stop_reason": "stop",
        "usage": {"input_tokens": 400, "cache_read_input_tokens": 11, "output_tokens": 23},
    }


def google_answer(text: str) -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, {"text": text}]
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "stop"}],
        "usageMetadata": {"promptTokenCount": 411, "candidatesTokenCount": 20, "thoughtsTokenCount": 3},
    }


OPENAI = Kind(OpenAIProvider, "openai", "/base/chat/completions", openai_answer)
ANTHROPIC = Kind(AnthropicProvider, "anthropic", "/base/v1/messages", anthropic_answer)
GOOGLE = Kind(GoogleProvider, "google", "/base/v1beta/models/made-up:generateContent", google_answer)
KINDS = (OPENAI, ANTHROPIC, GOOGLE)


def target_of(kind: Kind, **changes: Any) -> Target:
    return Target(**{"provider": kind.name, "base_url": ADDRESS, "model": "made-up", **changes})


class Server:
    """Answers every request with the same thing, or raises it, and keeps what it was sent."""

    def __init__(self, answer: httpx2.Response | Exception | dict[str, Any]) -> None:
        self.answer = answer
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, dict):
            return httpx2.Response(200, text=json.dumps(self.answer))
        return self.answer

    def provider(self, kind: Kind, *, key: str = KEY, **changes: Any) -> SdkProvider:
        return kind.make(target_of(kind, **changes), key, transport=httpx2.MockTransport(self))
