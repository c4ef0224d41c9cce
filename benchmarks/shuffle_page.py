"""Writes the figures and the picture of the guide's page on shuffling, from `benchmarks/results/shuffle_quality.json`.

Usage: `python -m benchmarks.shuffle_page` (`python -m benchmarks.shuffle_quality` does it too).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.report import fill, row
from benchmarks.shuffle_picture import draw

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide"
PAGE, PICTURE = GUIDE / "shuffling.md", GUIDE / "shuffling.svg"
ALT = "Where the samples of a dataset come in an epoch, for five ways of shuffling, and three measures by window size"


def block(figures: dict[str, Any]) -> list[str]:
    """Picture, table, and what they tell, as Markdown."""
    return [f"![{ALT}]({PICTURE.name})", "", *table(figures), "", *words(figures)]


def table(figures: dict[str, Any]) -> list[str]:
    """A row for each order."""
    batch = figures["batch_size"]
    head = [
        "order",
        f"a batch of {batch} is worth, packed shuffled",
        "packed sorted",
        "neighbours come apart",
        "companions met again",
    ]
    orders = {"not shuffled": figures["none"]}
    orders |= {name_of(one, figures): one for one in figures["windows"] if one["nodes"] == 1 or one["shards"] == 4}
    orders["full shuffle"] = figures["full"]
    return [row(head), row(["---", *["---:"] * 4]), *(row([name, *cells(one)]) for name, one in orders.items())]


def name_of(one: dict[str, Any], figures: dict[str, Any]) -> str:
    """An order in words."""
    shards = "1 shard" if one["shards"] == 1 else f"{one['shards']} shards"
    if one["nodes"] > 1:
        return f"windows of {shards}, {one['nodes']} nodes"
    return f"windows of {shards}" + (", the default" if one["shards"] == figures["default_window_shards"] else "")


def cells(one: dict[str, Any]) -> list[str]:
    """The measures of an order."""
    worth = one["effective_batch"]
    return [
        f"{worth['shuffled']:.0f}",
        f"{worth['sorted']:.0f}",
        percent(one["apart_percent"]),
        f"{one['met_again']:.2f}",
    ]


def percent(value: float) -> str:
    """Two digits, or as many as stand before the point; none for next to nothing."""
    return f"{value:.0f} %" if value >= 10 or value < 0.01 else f"{value:.2g} %"


WORDS = """\
{num_samples:,} samples of {num_classes:,} classes in {num_shards} shards of 1 GB, batches of {batch_size}.

- **Packed shuffled**, a batch is as good a mixture as a full shuffle gives, whatever the window. What a window still
  limits is company: in the default window a sample meets {default[met_again]:.1f} of its companions again in the next
  epoch, and {full[met_again]:.2f} after a full shuffle.
- **Packed sorted**, a batch of the default window holds {default[classes_in_batch][sorted]:.0f} classes, where a full
  shuffle brings {full[classes_in_batch][sorted]:.0f}, and is worth {default[effective_batch][sorted]:.0f} samples
  drawn at random.
- **From one epoch to the next** a sample moves by {default[moved_percent]:.0f} % of the epoch on average, as after a
  full shuffle ({full[moved_percent]:.0f} %): the sequence of shards is new each time."""


def words(figures: dict[str, Any]) -> list[str]:
    """What was measured, and the table in sentences."""
    sought = figures["default_window_shards"], 1
    default = next(one for one in figures["windows"] if (one["shards"], one["nodes"]) == sought)
    return WORDS.format(**figures, default=default).splitlines()


def write(figures: dict[str, Any]) -> None:
    """Page and picture."""
    fill(PAGE, block(figures))
    PICTURE.write_text(draw(figures))


def main() -> None:
    """Command line."""
    record = results.load("shuffle_quality")
    if record is None:
        raise SystemExit("Nothing was measured yet: python -m benchmarks.shuffle_quality")
    write(record["figures"])


if __name__ == "__main__":
    main()
