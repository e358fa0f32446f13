"""The benchmark keeps its contract: a table for people, and one line of JSON at the end."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "agreement.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, cut down to a run of seconds."""
    spec = importlib.util.spec_from_file_location("benchmark_agreement", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "benchmark_agreement", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESAMPLES", 10)
    monkeypatch.setattr(module, "RUNS", 1)
    monkeypatch.setattr(module, "SIZES", (100, 1000))
    return module


def test_it_ends_with_the_figures_of_the_contract(benchmark, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ACCORD_TEST_DATA", str(tmp_path / "nowhere"))
    benchmark.main(["--quick"])
    *table, last = capsys.readouterr().out.splitlines()
    figures = json.loads(last)
    assert list(figures) == ["paper_seconds", "ratio_vs_krippendorff", "ratio_vs_pair_loop", "seconds_1m"]
    assert figures["ratio_vs_krippendorff"] > 0
    assert figures["ratio_vs_pair_loop"] > 0
    # What was not measured is null, with the reason; made-up data are called that.
    assert figures["seconds_1m"] is None
    assert any("seconds_1m is null" in line for line in table)
    assert any("SIMULATED" in line for line in table)


@pytest.mark.public_data
def test_it_reads_the_whole_study(benchmark, kumar_folder):
    study = benchmark.read_kumar(kumar_folder)
    assert len(study) == 21
    assert {len(dimension.pairs()) for dimension in study} == {6}
    for dimension in study:
        for values in dimension.raters.values():
            assert len(values) == 50
            dimension.scale.check(values)
