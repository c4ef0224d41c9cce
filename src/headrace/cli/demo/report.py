"""Says how two training runs compare: a table for people, a mapping for machines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from headrace._base.units import count
from headrace.cli.demo.plan import NUM_RANKS, RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The same training, fed by the stock loader and by Headrace."""

    stock: RunResult
    headrace: RunResult

    @property
    def speed_up(self) -> float:
        """Samples a second of Headrace by those of the stock loader."""
        return self.headrace.samples_per_s / self.stock.samples_per_s

    def table(self) -> Table:
        """The table that ends the demo."""
        table = Table(
            title=f"{count(self.stock.plan.num_epochs, 'epoch')} on {NUM_RANKS} ranks: "
            "same photographs, model, seed, batches"
        )
        table.add_column("")
        table.add_column(
            f"torch DataLoader\n({count(self.stock.plan.num_workers or 0, 'worker')} a rank)", justify="right"
        )
        table.add_column("Headrace", justify="right")
        for name, stock, headrace in zip(ROWS, figures(self.stock), figures(self.headrace), strict=True):
            table.add_row(name, stock, headrace)
        table.caption = self.note()
        table.add_section()
        table.add_row("speed-up", "1.00 x", f"{self.speed_up:.2f} x", style="bold")
        return table

    def note(self) -> str:
        """What stood in for an accelerator."""
        step_ms = self.stock.plan.step_ms
        if step_ms:
            return f"On both sides each step slept {step_ms:g} ms after its real work, in place of an accelerator."
        return "No accelerator was imitated; --step-ms 150 adds such a sleep to each step, on both sides."

    def to_json(self) -> dict[str, Any]:
        """All figures; times in seconds, memory in bytes."""
        return {"speed_up": self.speed_up} | {
            side: {
                "num_workers": result.plan.num_workers,
                "samples_per_s": result.samples_per_s,
                "waited_share": result.waited_share,
                "first_batch_s": result.first_batch_s,
                "peak_memory_bytes": result.peak_memory_bytes,
                "accuracy": result.accuracy,
                "ranks": [asdict(rank) for rank in result.ranks],
                "plan": asdict(result.plan),
            }
            for side, result in (("stock", self.stock), ("headrace", self.headrace))
        }


ROWS = (
    "samples a second",
    "time spent waiting for data",
    "delay of the first batch",
    "peak memory of all processes",
    "training accuracy, last epoch",
)


def figures(result: RunResult) -> tuple[str, ...]:
    """The column of one run, one text a row."""
    return (
        f"{result.samples_per_s:,.0f}",
        f"{result.waited_share:.1%}",
        f"{result.first_batch_s:.2f} s",
        f"{result.peak_memory_bytes / 2**30:.2f} GiB",
        f"{result.accuracy:.1%}",
    )
