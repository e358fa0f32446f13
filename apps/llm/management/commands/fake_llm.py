"""`python manage.py fake_llm`: a made-up model on this machine, to try runs out without a key and without cost."""

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.llm.fake_model import FAULTS, FakeScript, ScriptError, parse_faults
from apps.llm.fake_server import MODEL, FakeServer

LAST_PORT = 65535


class Command(BaseCommand):
    help = "Serves a made-up model on 127.0.0.1 until Ctrl-C. It answers by lot: its scores mean nothing."
    # Nothing is asked of a database, so nothing about one is checked.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", default="8001", help="default: 8001; 0: any free one")
        parser.add_argument("--latency-ms", metavar="N", default="0", help="how long every answer takes")
        parser.add_argument("--jitter-ms", metavar="N", default="0", help="up to so much longer")
        parser.add_argument(
            "--faults",
            metavar="NAME=SHARE,...",
            default="",
            help=f"for example 429=0.05,malformed=0.1; {', '.join(FAULTS)}",
        )
        parser.add_argument("--hang-seconds", metavar="N", default="30", help="how long the fault “hang” holds on")
        parser.add_argument("--seed", metavar="N", default="0", help="other scores and other faults")
        parser.add_argument("--noise", metavar="SHARE", default="0", help="share of scores that are one point off")
        parser.add_argument("--require-key", metavar="KEY", default="", help="answers only whoever sends this key")

    def handle(self, *args: Any, **options: Any) -> None:
        port = int(_number(options["port"], "--port", whole=True))
        if not 0 <= port <= LAST_PORT:
            raise CommandError(f"--port must be a whole number from 0 to {LAST_PORT}.")
        script = _script(options)
        try:
            server = FakeServer(script, port)
        except OSError as error:
            raise CommandError(f"Port {port} cannot be served on: {error.strerror}.") from None
        # Ctrl-C ends it also where it was inherited as ignored, as a shell does to what it starts in the background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with server:
            self._tell(server)
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                self.stdout.write("")
        self.stdout.write(_summary(server.stats()))

    def _tell(self, server: FakeServer) -> None:
        key = (
            "Key variable: a variable of your workers that holds the key"
            if server.model.script.api_key
            else "Key variable: leave it empty"
        )
        lines = [
            f"A fake model answers at {server.url}",
            "To use it, make an endpoint as an admin (Endpoints, New endpoint):",
            "  Protocol: OpenAI, or any server that speaks its protocol",
            f"  Base URL: {server.url}",
            f"  Model: {MODEL}",
            f"  {key}",
            f"Counts: {server.url.removesuffix('/v1')}/stats. Ctrl-C stops it.",
        ]
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def _script(options: dict[str, Any]) -> FakeScript:
    """The script that the options describe. Raises CommandError with a sentence that names one of them."""
    try:
        return FakeScript(
            latency_ms=_number(options["latency_ms"], "--latency-ms"),
            jitter_ms=_number(options["jitter_ms"], "--jitter-ms"),
            hang_seconds=_number(options["hang_seconds"], "--hang-seconds"),
            seed=int(_number(options["seed"], "--seed", whole=True)),
            noise=_number(options["noise"], "--noise"),
            faults=parse_faults(options["faults"]),
            api_key=options["require_key"],
        )
    except ScriptError as error:
        raise CommandError(_in_options(str(error))) from None


def _in_options(sentence: str) -> str:
    """A sentence about the script, with its parts called as the options are."""
    for name in ("latency_ms", "jitter_ms", "hang_seconds"):
        sentence = sentence.replace(name, f"--{name.replace('_', '-')}")
    return sentence


def _number(text: str, option: str, *, whole: bool = False) -> float:
    try:
        return int(text) if whole else float(text)
    except ValueError:
        kind = "a whole number" if whole else "a number"
        raise CommandError(f"{option} must be {kind}, not “{text}”.") from None


def _summary(stats: dict[str, Any]) -> str:
    faults = ", ".join(f"{name} {count}" for name, count in sorted(stats["faults"].items())) or "none"
    return f"{stats['requests']} requests, {stats['answered']} answered; faults: {faults}"
