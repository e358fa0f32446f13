"""Asking a site that a test started as real processes."""

import json
import socket
import time
import urllib.error
import urllib.request


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> tuple[int, str]:
    """Status and body; status 0 when nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def wait_until_ready(port: int, *, seconds: float) -> dict[str, bool]:
    """The last answer of /readyz, as soon as all of it is true or the time is over."""
    end = time.monotonic() + seconds
    checks: dict[str, bool] = {}
    while time.monotonic() < end:
        status, body = get(port, "/readyz")
        if status in (200, 503):
            checks = json.loads(body)
        if status == 200:
            break
        time.sleep(0.3)
    return checks
