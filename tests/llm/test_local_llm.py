"""bin/local-llm says in one line what it cannot start without; what it installs and serves is too large for a test."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bin" / "local-llm"


def run(**env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT)], env=dict(os.environ) | env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("port", ["eighty", "80 01", "-1", "8001; true"])
def test_a_port_that_is_none_is_refused_before_anything_is_made(tmp_path, port):
    done = run(LOCAL_LLM_PORT=port, ACCORD_VAR=str(tmp_path / "var"))
    assert done.returncode == 1
    assert done.stderr == f'LOCAL_LLM_PORT must be a port number, not "{port}".\n'
    assert not (tmp_path / "var").exists()


def test_without_a_compiler_it_says_which_package_brings_one(tmp_path):
    """With a folder of programs that holds all it needs but a compiler."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "cat", "env"):
        found = next(path for path in (Path("/bin") / name, Path("/usr/bin") / name) if path.exists())
        (programs / name).symlink_to(found)
    copy = tmp_path / "accord"
    (copy / "bin").mkdir(parents=True)
    for name in ("local-llm", "environment.sh"):
        (copy / "bin" / name).write_text((ROOT / "bin" / name).read_text())
    python = copy / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/true")
    done = subprocess.run(
        ["/bin/sh", str(copy / "bin" / "local-llm")],
        env={"PATH": str(programs), "ACCORD_VAR": str(tmp_path / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "apt-get install g++" in done.stderr
    assert not (tmp_path / "var").exists()


def test_without_a_site_it_says_what_makes_one(tmp_path):
    copy = tmp_path / "accord"
    (copy / "bin").mkdir(parents=True)
    for name in ("local-llm", "environment.sh"):
        (copy / "bin" / name).write_text((ROOT / "bin" / name).read_text())
    done = subprocess.run(
        ["/bin/sh", str(copy / "bin" / "local-llm")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "Run bin/start first" in done.stderr


def test_every_option_of_the_endpoint_it_makes_is_one_of_the_command():
    given = re.search(r"create_endpoint (.*?)\necho", SCRIPT.read_text(), re.DOTALL)[1]
    command = (ROOT / "apps" / "llm" / "management" / "commands" / "create_endpoint.py").read_text()
    for option in re.findall(r"--([a-z-]+)", given):
        assert option in command or option.replace("-", "_") in command
