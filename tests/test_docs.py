"""The documents tell the truth: Python blocks run or stand in the file they name, links lead somewhere."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path
from textwrap import indent

import pytest

from headrace.pack import PackOptions, pack

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTE = re.compile(r"^```python (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)

with_python = [page for page in PAGES if BLOCK.search(page.read_text())]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def workplace(photographs, tmp_path_factory):
    """A folder as the documents take it for granted: data/photographs (a folder tree) and data/train-*.tar."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "data").mkdir()
    (folder / "data" / "photographs").symlink_to(photographs)
    pack(str(photographs), str(folder / "data" / "shards"), PackOptions(samples_per_shard=20, name="train"))
    return folder


@pytest.fixture
def one_rank(monkeypatch):
    """What a launcher sets for a job of one rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    for name, value in (variables | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("page", with_python, ids=name_of)
def test_python_blocks_run(page, workplace, one_rank, monkeypatch):
    """The blocks of a page run one after another, as a reader would type them."""
    monkeypatch.chdir(workplace)
    text = page.read_text()
    names = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        # Empty lines in front give tracebacks the line numbers of the page.
        exec(compile("\n" * line + block[1], name_of(page), "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if QUOTE.search(page.read_text())], ids=name_of)
def test_quoted_code_stands_in_its_file(page):
    missing = []
    for path, quote in QUOTE.findall(page.read_text()):
        text = (ROOT / path).read_text()
        if not any(indent(quote, depth) in text for depth in ("", " " * 4, " " * 8)):
            missing.append(quote)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    dead = []
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_pages_are_reached_from_the_readme():
    """A page that no other page leads to is a page that nobody reads."""
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(page.read_text())
        if not link.startswith("http")
    }
    assert [name_of(page) for page in PAGES if page.name != "README.md" and page.resolve() not in linked] == []


def test_make_targets_of_the_documents_exist():
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"`?\bmake ([a-z]+)`", page.read_text())}
    assert named <= known


def test_help_lists_the_targets():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"make demo", "make test", "make check"} <= {" ".join(line.split()[:2]) for line in done.stdout.splitlines()}
