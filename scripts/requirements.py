"""Prints the requirements of this project with the given extras, one a line, for `pip install -r`.

A checkout runs in place (a path file leads Python to src/), so that its environment needs what the project needs, but
not the project.

Usage: requirements.py [EXTRA ...]
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def requirements(project: dict[str, list[str]], optional: dict[str, list[str]], extras: list[str]) -> set[str]:
    """Requirements of the project and its extras; extras that name the project's own extras are followed."""
    own = "headrace["
    found = set(project["dependencies"])
    for extra in extras:
        for line in optional[extra]:
            if line.startswith(own):
                found |= requirements(project, optional, line.removeprefix(own).rstrip("]").split(","))
            else:
                found.add(line)
    return found


def main() -> None:
    """Reads pyproject.toml beside this folder and prints."""
    project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text())["project"]
    print("\n".join(sorted(requirements(project, project["optional-dependencies"], sys.argv[1:]))))


if __name__ == "__main__":
    main()
