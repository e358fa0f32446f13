"""The benchmark of runs keeps its contract: sites of their own, a table, one line of JSON, nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "llm.py"


@pytest.mark.once
@pytest.mark.xdist_group("site")
def test_every_call_is_one_request_and_one_rating(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *table, last = done.stdout.splitlines()
    figures = json.loads(last)
    assert list(figures) == ["efficiency_redis", "efficiency_embedded", "calls", "requests", "ratings"]
    assert figures["calls"] == figures["requests"] == figures["ratings"] == 162
    assert figures["efficiency_embedded"] > 0
    assert any("Smaller than the full size" in line for line in table)
    assert list(tmp_path.iterdir()) == []
