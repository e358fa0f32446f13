"""A made-up model behind the OpenAI protocol, on this machine only: for trying out, for tests and for loads. Pure.

It answers POST /v1/chat/completions and GET /v1/models, counts in GET /stats, and starts afresh with POST /reset.
"""

import json
import socket
import threading
import time
from collections.abc import Mapping
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from apps.llm.fake_answers import content_of
from apps.llm.fake_model import FakeModel, FakeReply, FakeScript, json_object
from apps.llm.tokens import estimate_tokens

__all__ = ["MODEL", "FakeReply", "FakeScript", "FakeServer"]

MODEL = "fake"
LARGEST_BODY = 10_000_000

_TOKENS_BY_MESSAGE = 4
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", 500: "server_error", 503: "overloaded"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def do_GET(self) -> None:
        match self.path.split("?")[0].rstrip("/"):
            case "/stats":
                self._send(200, self.server.model.stats())
            case "/v1/models":
                self._send(200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "accord"}]})
            case _:
                self._send(404, _error("There is nothing at this address.", 404))

    def do_POST(self) -> None:
        raw = self._body()
        match self.path.split("?")[0].rstrip("/"):
            case "/v1/chat/completions":
                self._complete(raw)
            case "/reset":
                self.server.model.reset()
                self._send(200, self.server.model.stats())
            case _:
                self._send(404, _error("There is nothing at this address.", 404))

    def _body(self) -> bytes:
        try:
            length = int(self.headers.get("Content-Length", 0))
        except ValueError:
            length = 0
        if not 0 <= length <= LARGEST_BODY:
            self.close_connection = True
            return b""
        return self.rfile.read(length)

    def _complete(self, raw: bytes) -> None:
        model = self.server.model
        key = model.script.api_key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            model.refuse()
            self._send(401, _error("Incorrect API key provided.", 401))
            return
        planned = model.plan(raw)
        reply = planned.reply
        try:
            self._wait(model.script.hang_seconds if reply.hang else planned.seconds)
        finally:
            # Before the answer is written: whoever has it finds it counted.
            model.land(planned)
        if reply.hang or reply.drop:
            self.close_connection = True
        elif reply.body is not None:
            self._write(reply.status, reply.body.encode(), reply.headers)
        elif reply.status == 200:
            self._send(200, _completion(reply, raw), reply.headers)
        else:
            self._send(reply.status, _error(reply.text, reply.status), reply.headers)

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self.server.is_stopping.wait(seconds)

    def _send(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._write(status, json.dumps(body).encode(), headers or {})

    def _write(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        """Head and body in one write, so that they leave in one packet."""
        lines = {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}
        if self.close_connection:
            lines["Connection"] = "close"
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        reason = self.responses.get(status, ("Unknown", ""))[0]
        self.wfile.write(f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode("latin-1") + content)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: there may be thousands of requests."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, port: int, model: FakeModel) -> None:
        self.model = model
        self.is_stopping = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # The base class looks its own name up in the DNS.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", int(self.socket.getsockname()[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to tell."""

    def hang_up(self) -> None:
        """Ends what waits and every connection that is still open."""
        self.is_stopping.set()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class FakeServer:
    """The fake model served on loopback, from `start` (or the beginning of a `with`) to `stop`. Port 0: any free one.

    Making it raises OSError where the port is taken.
    """

    def __init__(self, script: FakeScript | None = None, port: int = 0) -> None:
        self.model = FakeModel(script or FakeScript())
        self._server = _Server(port, self.model)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def url(self) -> str:
        """The base URL that an endpoint names."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was asked, the last requests only."""
        return list(self.model.bodies)

    def stats(self) -> dict[str, Any]:
        return self.model.stats()

    def reset(self) -> None:
        self.model.reset()

    def start(self) -> "FakeServer":
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def __enter__(self) -> "FakeServer":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


# --- Bodies ---------------------------------------------------------------------------------------------------------


def _completion(reply: FakeReply, raw: bytes) -> dict[str, Any]:
    body = json_object(raw) or {}
    n_input = sum(estimate_tokens(content_of(message)) + _TOKENS_BY_MESSAGE for message in body.get("messages") or ())
    n_output = estimate_tokens(reply.text)
    return {
        "id": f"chatcmpl-{sha256(raw).hexdigest()[:24]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(body.get("model", MODEL)),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": reply.text}, "finish_reason": "stop"},
        ],
        "usage": {"prompt_tokens": n_input, "completion_tokens": n_output, "total_tokens": n_input + n_output},
    }


def _error(sentence: str, status: int) -> dict[str, Any]:
    code = _CODES.get(status, "invalid_request_error")
    return {"error": {"message": sentence, "type": code, "code": code, "param": None}}
