"""The benchmark of saving keeps its contract: a site of its own, a table, one line of JSON, nothing left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "raters.py"


@pytest.mark.once
def test_every_answer_that_was_sent_is_stored_once(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"TMPDIR": str(tmp_path)}
    command = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    *table, last = done.stdout.splitlines()
    figures = json.loads(last)
    keys = ["sent", "stored", "doubled", "p95_save_ms_1", "p95_save_ms_8", "p95_save_ms_50", "per_second_8"]
    assert list(figures) == keys
    assert figures["sent"] == figures["stored"] == 21 + 8 * 6 + 50 * 2
    assert figures["doubled"] == 0
    assert all(figures[key] > 0 for key in keys[3:])
    assert any("0 refused" in line for line in table)
    assert list(tmp_path.iterdir()) == []
