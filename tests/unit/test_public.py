"""The face of the package: what `import headrace` offers, and what it costs."""

from __future__ import annotations

import subprocess
import sys

import headrace


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_heavy():
    heavy = ("torch", "torchvision", "PIL", "pyarrow", "rich", "typer", "psutil", "safetensors", "headrace._native")
    code = f"import sys, headrace; print(*[name for name in {heavy} if name in sys.modules])"
    assert run_python(f"import sys; sys.path[:0] = {sys.path!r}; {code}") == []


def test_names_are_these_and_sorted():
    """A name that is added here is a promise to users; one that goes breaks them."""
    names = [
        "Albumentations",
        "DataLoader",
        "Field",
        "FileDataset",
        "HeadraceError",
        "Pad",
        "ShardDataset",
        "ShardWriter",
        "SharedDict",
        "SharedList",
        "Topology",
        "Views",
    ]
    names += ["__version__", "field", "rng"]
    assert headrace.__all__ == sorted(names)


def test_every_name_exists():
    assert [name for name in headrace.__all__ if not hasattr(headrace, name)] == []


def test_dir_shows_the_lazy_names():
    assert set(headrace.__all__) <= set(dir(headrace))
