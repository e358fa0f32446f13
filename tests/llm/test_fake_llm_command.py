"""The command `fake_llm`: a fake model until Ctrl-C, or one clear line and exit status 1."""

import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import BaseCommand, CommandError, call_command

from apps.llm.fake_model import FAULTS
from apps.llm.fake_server import FakeServer
from apps.llm.management.commands.fake_llm import Command
from apps.llm.prompts import Message
from apps.llm.providers.openai_provider import OpenAIProvider
from apps.llm.providers.protocol import Parameters, Target

ROOT = Path(__file__).resolve().parents[2]
MANAGE = ROOT / "manage.py"
DOCS = ROOT / "docs" / "language-models.md"
OPTION = re.compile(r"--[a-z-]+")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--port", "eight"], "--port must be a whole number, not “eight”."),
        (["--port", "70000"], "--port must be a whole number from 0 to 65535."),
        (["--latency-ms", "slow"], "--latency-ms must be a number, not “slow”."),
        (["--jitter-ms", "-1"], "--jitter-ms must be from 0 to 3,600,000."),
        (["--hang-seconds", "nan"], "--hang-seconds must be from 0 to 3,600,000."),
        (["--seed", "1.5"], "--seed must be a whole number, not “1.5”."),
        (["--noise", "2"], "The noise must be from 0 to 1."),
        (["--faults", "429"], "“429” is no fault: write a name and a share, such as 429=0.05."),
        (["--faults", "429=0.7,500=0.7"], "The shares of the faults add up to more than 1."),
    ],
)
def test_bad_input_is_one_clear_line(options, sentence):
    with pytest.raises(CommandError) as caught:
        call_command("fake_llm", *options)
    assert str(caught.value) == sentence
    assert caught.value.returncode == 1


def test_a_port_that_is_taken_is_named():
    with FakeServer() as server:
        port = server.url.split(":")[2].split("/")[0]
        with pytest.raises(CommandError, match=f"Port {port} cannot be served on: Address already in use."):
            call_command("fake_llm", "--port", port)


def test_it_serves_until_it_is_interrupted():
    command = [sys.executable, str(MANAGE), "fake_llm", "--port", "0", "--require-key", "a-key", "--seed", "3"]
    # Begun as a shell begins what runs in the background: deaf to Ctrl-C.
    deaf = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    with subprocess.Popen(deaf, stdout=subprocess.PIPE, text=True) as process:
        first = process.stdout.readline()
        url = first.rsplit(" ", 1)[1].strip()
        told = "".join(process.stdout.readline() for _ in range(6))
        with closing(OpenAIProvider(Target("openai", url, "fake"), "a-key")) as provider:
            completion = provider.complete([Message("user", "Hello")], None, Parameters(max_tokens=50))
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert first.startswith("A fake model answers at http://127.0.0.1:")
    assert f"Base URL: {url}" in told
    assert "Key variable: a variable of your workers" in told
    assert "a-key" not in first + told + rest
    assert completion.text
    assert "1 requests, 1 answered; faults: none" in rest


def test_the_docs_name_every_option_and_fault():
    section = DOCS.read_text(encoding="utf-8").split("## A fake model for trying out")[1].split("\n## ")[0]
    words = set(re.findall(r"`([^`]+)`", section))
    assert set(FAULTS) <= words
    documented = {option for word in words if word.startswith("--") for option in OPTION.findall(word)}
    assert documented == options_of(Command()) - options_of(BaseCommand())


def options_of(command: BaseCommand) -> set[str]:
    return set(OPTION.findall(command.create_parser("manage.py", "fake_llm").format_usage()))
