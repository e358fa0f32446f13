"""The benchmark of runs keeps its contract: sites of their own, a table, one line of JSON, nothing left behind."""

import importlib.util
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
    # Not at full size, so null, with the reason above.
    assert (figures["efficiency_redis"], figures["efficiency_embedded"]) == (None, None)
    assert "efficiency_redis and efficiency_embedded are null: measured with 162 calls only." in table
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def benchmark_llm(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("benchmark_of_runs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def figures_of(**changed):
    made = {"calls": 600, "requests": 600, "ratings": 600, "seconds": 15.5, "efficiency": 0.9678, "database": "SQLite"}
    return made | {"watched_calls": 2400, "mib_before": 260.0, "mib_after": 261.0} | changed


def test_at_full_size_both_efficiencies_are_told(benchmark_llm, capsys):
    benchmark_llm.report({"redis": figures_of(efficiency=0.9412), "embedded": figures_of()}, quick=False)
    *table, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == {
        "efficiency_redis": 0.941,
        "efficiency_embedded": 0.968,
        "calls": 600,
        "requests": 600,
        "ratings": 600,
    }
    assert not any("null" in line for line in table)


def test_what_cannot_be_measured_is_null_with_the_reason_above(benchmark_llm, capsys):
    benchmark_llm.report({"redis": {"problem": "no redis-server here"}, "embedded": figures_of()}, quick=False)
    *table, last = capsys.readouterr().out.splitlines()
    assert json.loads(last)["efficiency_redis"] is None
    assert json.loads(last)["ratings"] == 600
    assert any("not measured: no redis-server here" in line for line in table)


def test_brokers_that_do_not_agree_are_no_success(benchmark_llm, capsys):
    with pytest.raises(SystemExit) as ended:
        benchmark_llm.report({"redis": figures_of(), "embedded": figures_of(requests=690, ratings=550)}, quick=False)
    assert ended.value.code  # a sentence, which makes the status 1
    *table, last = capsys.readouterr().out.splitlines()
    figures = json.loads(last)
    assert list(figures) == ["efficiency_redis", "efficiency_embedded", "calls", "requests", "ratings"]
    assert (figures["calls"], figures["requests"], figures["ratings"]) == (600, None, None)
    assert "requests is null: 600 with redis, 690 with embedded." in table
    assert "ratings is null: 600 with redis, 550 with embedded." in table
