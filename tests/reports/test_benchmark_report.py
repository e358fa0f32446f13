"""The benchmark of the report keeps its contract: a database of its own, a table, one line of JSON, nothing left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "report.py"


@pytest.mark.once
def test_it_ends_with_the_figures_of_the_contract(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"TMPDIR": str(tmp_path)}
    command = [sys.executable, str(SCRIPT), "--quick"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    *table, last = done.stdout.splitlines()
    # A tenth and the whole of what a quick run takes, in both shapes; the ratings were counted.
    sizes = ["333 x 3 x 1", "3,333 x 3 x 1", "6 x 7 x 21", "68 x 7 x 21"]
    assert [line.split("  ")[0] for line in table if line.startswith(tuple(sizes))] == sizes
    # What was not measured at full size is null, with the reason.
    assert json.loads(last) == {"seconds_1m": None, "peak_mib": None, "growth_10x": None}
    assert list(json.loads(last)) == ["seconds_1m", "peak_mib", "growth_10x"]
    assert "seconds_1m, peak_mib and growth_10x are null" in table[-1]
    assert list(tmp_path.iterdir()) == []
