"""The command `headrace`."""

from __future__ import annotations


def main() -> None:
    """Runs the command line; the entry point of the package."""
    from headrace.cli.app import run

    run()
