"""The README's table says what the results say, and nothing else of the README changes."""

from __future__ import annotations

import importlib.util
import json

import pytest

from benchmarks import report, results
from benchmarks.__main__ import BENCHMARKS
from benchmarks.loaders import NAMES

MACHINE = {"processor": "Abacus", "cores": 2, "system": "Linux x86_64", "python": "3.11.7", "torch": "2.14.1"}
FIGURES = {
    "work": "crop and flip",
    "images_a_run": 20_000,
    "failed": {"dali": "ImportError: no driver"},
    "loaders": {
        "torch_io": {"images_per_s": 1000.4, "images_per_s_rounds": [1000.4] * 5},
        "headrace_shards": {"images_per_s": 2500.0, "images_per_s_rounds": [2500.0] * 5},
    },
    "ratios": {"headrace_shards": {"torch_io": 2.499}},
}


@pytest.fixture
def readme(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    save(tmp_path, "loaders_crop", FIGURES)
    save(tmp_path, "stats_cost", {"percent_of_step": 0.0123})
    path = tmp_path / "README.md"
    path.write_text(f"# Before\n{report.BEGIN}\nold\n{report.END}\nAfter\n")
    return path


def save(folder, name, figures):
    (folder / f"{name}.json").write_text(json.dumps({"machine": MACHINE, "figures": figures}, sort_keys=True))


def test_figures_are_written_between_the_markers(readme):
    report.write(readme)
    text = readme.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith(f"{report.END}\nAfter\n")
    assert "old" not in text
    assert "| **headrace**, shards | 2,500 |\n| torch DataLoader, torchvision.io | 1,000 (2.50×) |" in text
    assert "| DALI on the CPU | fails |" in text
    assert "ImportError: no driver" in text
    assert "| Cost of statistics | 0.012 % of a step |" in text
    assert "Medians of 5 interleaved rounds of 20,000 images" in text


def test_datasets_in_python_have_a_table_of_their_own(readme):
    one = {"title": "rows", "samples_per_s": 3000.4, "torch_samples_per_s": 1000.0, "times_torch": 3.0}
    figures = {
        "rows": one | {"times_torch_rounds": [3.0] * 5},
        "images": one | {"title": "images", "times_torch_rounds": [3.0] * 5, "times_torch_defaults": 4.0},
    }
    save(readme.parent, "map_style", figures)
    report.write(readme)
    text = readme.read_text()
    assert "| images | 3,000 | 1,000 (3.00×; 4.00× without settings) |\n| rows | 3,000 | 1,000 (3.00×) |" in text
    assert "medians of 5 interleaved rounds" in text


def test_every_single_figure_can_be_filled_in(readme):
    facts = {
        "shared_list": {
            "num_paths": 2_000_000,
            "num_ranks": 2,
            "num_workers": 4,
            "headrace": {"shared": {"above_per_block": 1.028}},
        },
        "kills": {"named": 99, "num": 100, "latest_s": 0.5},
        "worker_start": {
            "num_workers": 4,
            "num_paths": 2_000_000,
            "first_s": 1.5,
            "second_s": 0.05,
            "torch_spawn_s": 9.0,
            "torch_forkserver_s": 6.0,
        },
    }
    for name, figures in facts.items():
        save(readme.parent, name, figures)
    report.write(readme)
    text = readme.read_text()
    assert "| 99 of 100; 0.500 s |" in text
    assert "2 ranks with 4 worker processes each, in copies of the packed list | 1.03 |" in text
    assert "4 worker processes, a list of 2,000,000 paths" in text
    assert "| 1.5 s, 0.05 s; 9.0 s, 6.0 s |" in text


def test_writing_twice_changes_nothing(readme):
    report.write(readme)
    once = readme.read_text()
    report.write(readme)
    assert readme.read_text() == once


def test_a_readme_without_markers_is_left_alone(readme):
    readme.write_text("# Before\n")
    with pytest.raises(SystemExit, match="lacks the lines"):
        report.write(readme)
    assert readme.read_text() == "# Before\n"


@pytest.mark.parametrize("module", [*BENCHMARKS, *(f"loaders.{name}" for name in NAMES)])
def test_every_benchmark_is_a_module(module):
    assert importlib.util.find_spec(f"benchmarks.{module}")
