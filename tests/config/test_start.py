"""`bin/start` as a person runs it: real processes, an empty var folder, Ctrl-C at the end."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.config.site_process import free_port, get, wait_until_ready

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 90


def clean_environment(var: Path, **extra: str) -> dict[str, str]:
    pointing = {
        "DATABASE_URL",
        "REDIS_URL",
        "SECRET_KEY",
        "DJANGO_SETTINGS_MODULE",
        "ALLOWED_HOSTS",
        "BASE_URL",
        "DEBUG",
    }
    kept = {key: value for key, value in os.environ.items() if key not in pointing}
    return kept | {"ACCORD_VAR": str(var)} | extra


def start(var: Path, log: Path, **extra: str) -> subprocess.Popen[bytes]:
    """The part of bin/start behind the virtual environment, which this test runs in already.

    With Ctrl-C ignored, as the background of a script has it: a start must hear it all the same.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            ["sh", "-c", "trap '' INT; exec \"$0\" bin/supervise.py", sys.executable],
            cwd=ROOT,
            env=clean_environment(var, **extra),
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def living_processes(marker: str) -> list[str]:
    """Command lines of processes whose environment names `marker`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def announced(log: Path, address: str) -> str:
    """What was printed, once the address is; it comes after the site answers."""
    end = time.monotonic() + 30
    while address not in log.read_text() or "Demo logins" not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.2)
    return log.read_text()


def prepared(folder: Path, pip_exit: int) -> subprocess.CompletedProcess[str]:
    """What `prepare_environment` says in a folder whose pip warns, and ends with `pip_exit`."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *"pip install"*) echo "WARNING: noise" >&2; exit {pip_exit};; esac\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    (folder / "requirements.txt").write_text("")
    script = f'. "{ROOT}/bin/environment.sh"; prepare_environment requirements.txt'
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_what_pip_says_is_shown_only_where_it_fails(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    good, bad = prepared(tmp_path / "good", 0), prepared(tmp_path / "bad", 1)
    assert (good.returncode, good.stdout, good.stderr) == (
        0, "Installing requirements.txt (about two minutes, once) ...\n", "",
    )  # fmt: skip
    assert bad.returncode == 1
    assert "WARNING: noise" in bad.stderr
    assert "requirements.txt could not be installed" in bad.stderr
    assert not list((tmp_path / "bad" / ".venv").glob("installed-*"))


@pytest.fixture
def site(tmp_path: Path):
    """A started site: its var folder, its log, its port, and the process to interrupt."""
    port = free_port()
    var, log = tmp_path / "var", tmp_path / "log"
    process = start(var, log, PORT=str(port))
    try:
        yield var, log, port, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=40)


@pytest.mark.xdist_group("site")
def test_a_start_serves_signs_in_and_stops_whole(site, tmp_path: Path):
    var, log, port, process = site
    checks = wait_until_ready(port, seconds=READY_SECONDS)
    assert checks == {"database": True, "broker": True, "worker": True}, log.read_text()

    status, page = get(port, "/accounts/sign-in/")
    assert status == 200
    sheets = re.findall(r'href="(/static/[^"]+\.css)"', page)
    assert sheets
    assert all(get(port, sheet)[0] == 200 for sheet in sheets)

    logins = json.loads((var / "demo-logins.json").read_text())
    assert {login["role"] for login in logins} == {"admin", "researcher", "annotator"}
    assert stat.S_IMODE((var / "demo-logins.json").stat().st_mode) == 0o600
    output = announced(log, f"http://127.0.0.1:{port}/")
    assert all(login["password"] in output for login in logins)
    *_, last, begin = output.rstrip().splitlines()
    assert re.match(r"  expert +expert@demo\.example ", last)
    assert begin.strip() == f"rates in the demo study: http://127.0.0.1:{port}/studies/demo/rate/"
    assert "superuser privileges" not in output

    beside = tmp_path / "beside"
    assert start(var, beside, PORT=str(free_port())).wait(timeout=30) == 1
    assert f"Accord is running with {var} already" in beside.read_text()

    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=40) == 0
    assert living_processes(str(var)) == []

    second = start(var, log, PORT=str(port), ALLOWED_HOSTS="accord.example.org")
    try:
        assert wait_until_ready(port, seconds=READY_SECONDS)["worker"], log.read_text()
        assert json.loads((var / "demo-logins.json").read_text()) == logins
    finally:
        second.kill()
        second.wait(timeout=40)
    if sys.platform == "linux":
        wait_until_gone(str(var))


def wait_until_gone(marker: str) -> None:
    """The processes of a start that was killed outright are told by the system, and take a moment to stop."""
    end = time.monotonic() + 40
    while living := living_processes(marker):
        assert time.monotonic() < end, living
        time.sleep(0.3)


def test_a_taken_port_is_said_at_once_and_nothing_is_made(tmp_path: Path):
    port = free_port()
    log = tmp_path / "log"
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", port))
        squatter.listen()
        assert start(tmp_path / "var", log, PORT=str(port)).wait(timeout=30) == 1
    assert f"cannot listen on HOST 127.0.0.1, PORT {port}" in log.read_text()
    assert not (tmp_path / "var" / "accord.sqlite3").exists()


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path: Path):
    log = tmp_path / "log"
    (tmp_path / "file").write_text("no folder")
    assert start(tmp_path / "file" / "var", log, PORT=str(free_port())).wait(timeout=30) == 1
    assert log.read_text().startswith(f"Accord cannot write to {tmp_path / 'file' / 'var'}: ")
    assert log.read_text().count("\n") == 1


def test_port_0_is_refused_since_nobody_would_know_the_address(tmp_path: Path):
    log = tmp_path / "log"
    assert start(tmp_path / "var", log, PORT="0").wait(timeout=30) == 1
    assert (
        log.read_text()
        == "Accord cannot listen on HOST 127.0.0.1, PORT 0: a port must be named. Set PORT or HOST to another.\n"
    )
