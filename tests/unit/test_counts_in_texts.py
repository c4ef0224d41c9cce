"""A number before its noun is written by `_base.units.count`, so that no text says "1 shards"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "headrace"
TESTING = SOURCE / "testing"
"""Assertions of contract suites, not texts for users."""
AS_TORCH_SAYS_IT = "{num_samples} samples have been fetched"
AMOUNTS = ("count(", "format_", "result.samples_per_s", "result.later_samples_per_s", "samples.astype")
"""Formatted as they should be, or no whole numbers."""
BARE = re.compile(
    r"(?P<lead>.{0,13})\{(?P<value>[^{}]+)\} (?:(?:different|usable|worker) )?(?P<noun>archives|batches|boxes|bytes|"
    r"classes|columns|cores|CPUs|elements|entries|epochs|errors|fields|files|images|keys|levels|lines|masks|members|nodes|"
    r"photographs|processes|ranks|rows|samples|scans|shards|steps|threads|values|views|windows|workers)\b"
)


def texts(path: Path) -> Iterator[str]:
    """Each f-string of a file, its values in braces without their formats."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else value_of(part) for part in node.values)


def value_of(part: ast.expr) -> str:
    """A formatted value in braces."""
    assert isinstance(part, ast.FormattedValue)
    return f"{{{ast.unparse(part.value).replace('{', '(').replace('}', ')')}}}"


def bare_numbers(text: str) -> list[str]:
    """Values that stand right before a noun in the plural, and may be one; what "of" leads to is a total."""
    return [
        f"{found['value']} {found['noun']}"
        for found in BARE.finditer(text)
        if not found["value"].isupper()
        and not found["value"].startswith(AMOUNTS)
        and not found["lead"].endswith((" of ", " of the ", "of at least "))
    ]


def test_numbers_are_written_with_their_nouns():
    sources = [path for path in SOURCE.rglob("*.py") if TESTING not in path.parents]
    assert len(sources) > 100
    found = {
        path.name: bare
        for path in sources
        for text in texts(path)
        if AS_TORCH_SAYS_IT not in text and (bare := bare_numbers(text))
    }
    assert found == {}


@pytest.mark.parametrize("text", ["{n} shards", "has {len(x)} samples,", "{num} usable CPUs", "({n} worker processes)"])
def test_a_bare_number_is_seen(text):
    assert bare_numbers(text)


@pytest.mark.parametrize(
    "text", ["{count(n, 'shard')} here", "{MAX} samples", "1 of {n} files", "{a}samples", "{n} is"]
)
def test_what_is_no_bare_number_is_passed_over(text):
    assert not bare_numbers(text)
