"""The picture of the guide's page on shuffling: where samples come in an epoch, and what the size of windows does.

Above, every sample of a small dataset, placed by the order itself; below, the figures of `benchmarks.shuffle_quality`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.svg import INK, QUIET, Drawing, LogAxes
from headrace.contracts import I64, Layout, Shuffle
from headrace.order import OrderSpec, open_epoch

NUM_SHARDS, SAMPLES_PER_SHARD = 40, 30
PANELS: dict[str, tuple[Shuffle, int | None]] = {
    "not shuffled": ("none", None),
    "windows of 1 shard": ("window", 1),
    "windows of 4 shards": ("window", 4),
    "windows of 10 shards": ("window", 10),
    "full shuffle": ("full", None),
}
MARKED = {9: "#cc79a7", 20: "#009e73", 31: "#8250df"}
"""Shards whose samples are followed, and their colours."""
OTHERS, SHUFFLED, SORTED = "#bcc5ce", "#0072b2", "#d55e00"

WIDTH, HEIGHT, LEFT = 984, 552, 34
SIDE, GAP, TOP = 172, 15, 84
CHART_TOP, CHART_WIDTH, CHART_HEIGHT, CHART_STEP = 336, 248, 158, 324
DASHES = {1: "none", 8: "5 4"}
"""Solid for one node, dashed for eight."""


def small_epoch(shuffle: Shuffle, window_shards: int | None) -> I64:
    """Sample ids of one epoch of the small dataset."""
    samples = np.full(NUM_SHARDS, SAMPLES_PER_SHARD, dtype=np.int64)
    spec = OrderSpec(
        layout=Layout(samples=samples, sizes=samples),
        batch_size=NUM_SHARDS * SAMPLES_PER_SHARD,
        seed=1,
        shuffle=shuffle,
        window_samples=window_shards and window_shards * SAMPLES_PER_SHARD,
    )
    return open_epoch(spec, 0).step(0).ids


def draw_panel(drawing: Drawing, left: float, title: str, ids: I64) -> None:
    """A dot a sample: when it comes, to the right, against where it lies, downwards."""
    scale = SIDE / len(ids)
    drawing.words((left, TOP - 9), title, size=13)
    drawing.frame((left, TOP), SIDE, SIDE)
    when = {sample: place for place, sample in enumerate(ids.tolist())}
    for shard in sorted(range(NUM_SHARDS), key=lambda shard: shard in MARKED):
        samples = range(shard * SAMPLES_PER_SHARD, (shard + 1) * SAMPLES_PER_SHARD)
        places = [(left + (when[one] + 0.5) * scale, TOP + (one + 0.5) * scale) for one in samples]
        drawing.dots(places, MARKED.get(shard, OTHERS), size=3.2 if shard in MARKED else 1.7)


def draw_panels(drawing: Drawing) -> None:
    """The upper row."""
    drawing.words((LEFT, 32), "When each sample of a dataset comes in an epoch", size=16)
    drawing.words(
        (LEFT, 51),
        f"{NUM_SHARDS} shards, three of them in colour: to the right, the epoch; downwards, the dataset",
        colour=QUIET,
    )
    for number, (title, mode) in enumerate(PANELS.items()):
        draw_panel(drawing, LEFT + number * (SIDE + GAP), title, small_epoch(*mode))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A measure against the size of windows."""

    nodes: int
    colour: str
    label: str
    label_at: tuple[float, float]
    """Values of x and y."""
    value: Callable[[dict[str, Any]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One of the three charts of the lower row."""

    title: str
    under_title: str
    y: tuple[float, float]
    y_ticks: dict[float, str]
    curves: tuple[Curve, ...]


def charts(figures: dict[str, Any]) -> list[Chart]:
    """The lower row."""
    batch, full = figures["batch_size"], figures["full"]

    def worth(packed: str) -> Callable[[dict[str, Any]], float]:
        return lambda one: float(one["effective_batch"][packed])

    def both(name: str, first: tuple[float, float], second: tuple[float, float]) -> tuple[Curve, ...]:
        return tuple(
            Curve(nodes=nodes, colour=INK, label=label, label_at=at, value=lambda one: float(one[name]))
            for nodes, label, at in ((1, "1 node", first), (8, "8 nodes", second))
        )

    return [
        Chart(
            title=f"What a batch of {batch} is worth",
            under_title="in samples drawn at random, for its mixture of classes",
            y=(4, 420),
            y_ticks={4: "4", 16: "16", 64: "64", batch: f"{batch}"},
            curves=(
                Curve(nodes=1, colour=SHUFFLED, label="packed shuffled", label_at=(1, 300), value=worth("shuffled")),
                Curve(nodes=1, colour=SORTED, label="packed sorted", label_at=(9, 33), value=worth("sorted")),
                Curve(nodes=8, colour=SORTED, label="8 nodes", label_at=(2.35, 62), value=worth("sorted")),
            ),
        ),
        Chart(
            title="How far neighbours come apart",
            under_title="samples side by side in a shard; share of the epoch",
            y=(0.1, 60),
            y_ticks={0.1: "0.1 %", 1: "1 %", 10: "10 %", full["apart_percent"]: f"{full['apart_percent']:.0f} %"},
            curves=both("apart_percent", (9, 1.1), (1, 6.5)),
        ),
        Chart(
            title="How many companions are met again",
            under_title=f"of the {batch - 1} others in a batch, in the next epoch",
            y=(0.03, 12),
            y_ticks={full["met_again"]: f"{full['met_again']:.2f}", 0.5: "0.5", 5: "5"},
            curves=both("met_again", (2.4, 1.3), (1.4, 0.13)),
        ),
    ]


def draw_chart(drawing: Drawing, left: float, chart: Chart, figures: dict[str, Any]) -> None:
    """Axes and curves."""
    axes = LogAxes(
        corner=(left, CHART_TOP), width=CHART_WIDTH, height=CHART_HEIGHT, x=(1, figures["num_shards"]), y=chart.y
    )
    drawing.words((left, CHART_TOP - 30), chart.title, size=13)
    drawing.words((left, CHART_TOP - 13), chart.under_title, size=11, colour=QUIET)
    ticks = sorted({one["shards"] for one in figures["windows"]})
    axes.draw(drawing, ticks, chart.y_ticks, f"shards in a window (default {figures['default_window_shards']})")
    for curve in chart.curves:
        measured = [one for one in figures["windows"] if one["nodes"] == curve.nodes]
        places = [axes.at(one["shards"], curve.value(one)) for one in measured]
        drawing.path(places, curve.colour, width=2, dashes=DASHES[curve.nodes])
        drawing.dots(places, curve.colour, size=6)
        drawing.words(axes.at(*curve.label_at), curve.label, size=12, colour=curve.colour)


def draw(figures: dict[str, Any]) -> str:
    """The picture as SVG text."""
    drawing = Drawing(width=WIDTH, height=HEIGHT, title="How windows mix a dataset, against a full shuffle")
    draw_panels(drawing)
    for column, chart in enumerate(charts(figures)):
        draw_chart(drawing, LEFT + 16 + column * CHART_STEP, chart, figures)
    return drawing.text()
