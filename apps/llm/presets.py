"""Servers that many people use, as a start for the form of an endpoint. No models' prices: those change."""

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.llm.models import MaxTokensName, Provider, ResponseFormat


@dataclass(frozen=True, slots=True)
class Preset:
    """`values`: fields of the form and what they begin with. The model is for the person to name."""

    title: str | Promise
    words: str | Promise
    values: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> str:
        return urlencode(self.values)


PRESETS = (
    Preset(
        _("OpenAI"),
        _("Its own address. Newer models may take no temperature: untick it where the test says so."),
        {
            "name": "openai",
            "provider": Provider.OPENAI,
            "base_url": "https://api.openai.com/v1",
            "key_variable": "OPENAI_API_KEY",
            "max_tokens_name": MaxTokensName.MAX_COMPLETION_TOKENS,
            "takes_seed": "on",
        },
    ),
    Preset(
        _("Anthropic"),
        _("Its own address, left empty. The models take no temperature."),
        {
            "name": "anthropic",
            "provider": Provider.ANTHROPIC,
            "key_variable": "ANTHROPIC_API_KEY",
            "takes_temperature": "",
        },
    ),
    Preset(
        _("Google"),
        _("Its own address, left empty."),
        {"name": "google", "provider": Provider.GOOGLE, "key_variable": "GEMINI_API_KEY"},
    ),
    Preset(
        _("OpenRouter"),
        _("Models of many makers behind one key. Who runs them, and what they keep, differs from model to model."),
        {
            "name": "openrouter",
            "base_url": "https://openrouter.ai/api/v1",
            "key_variable": "OPENROUTER_API_KEY",
        },
    ),
    Preset(
        _("Ollama"),
        _("On this machine, no key. The model is called as the command ollama list shows it."),
        {"name": "ollama", "base_url": "http://127.0.0.1:11434/v1", "takes_seed": "on", "max_concurrent": "1"},
    ),
    Preset(
        _("llama.cpp, or bin/local-llm"),
        _("On this machine, no key. bin/local-llm serves a small model to try things with; it is a poor judge."),
        {
            "name": "local-smollm2",
            "base_url": "http://127.0.0.1:8001/v1",
            "model": "smollm2-135m",
            "response_format": ResponseFormat.JSON_OBJECT_SCHEMA,
            "takes_seed": "on",
            "context_tokens": "4096",
            "reply_tokens": "400",
            "max_concurrent": "1",
        },
    ),
    Preset(
        _("vLLM"),
        _("A server of your own, without a key on this machine. Start it with --port 8002: 8000 is Accord's."),
        {"name": "vllm", "base_url": "http://127.0.0.1:8002/v1", "takes_seed": "on", "max_concurrent": "8"},
    ),
)
