"""Writes the README's figures from `benchmarks/results`, between two markers. Usage: `python -m benchmarks.report`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.loaders import TITLES
from benchmarks.works import WORKS

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def loaders_table() -> list[str]:
    """Images a second of every loader in every work."""
    found = {work: record for work in WORKS if (record := results.load(f"loaders_{work}"))}
    if not found:
        return []
    measured = [record["figures"] for record in found.values()]
    names = [name for name in TITLES if any(name in one["loaders"] or name in one["failed"] for one in measured)]
    head = ["loader", *(found[work]["figures"]["work"] for work in found)]
    lines = [row(head), row(["---", *["---:"] * len(found)])]
    lines += [row([TITLES[name], *(cell(record["figures"], name) for record in found.values())]) for name in names]
    return [*lines, "", *conditions(found)]


def cell(figures: dict[str, Any], name: str) -> str:
    """A rate and, for a peer, how many times faster Headrace is."""
    loader = figures["loaders"].get(name)
    if loader is None:
        return "fails" if name in figures["failed"] else ""
    ratio = figures["ratios"].get("headrace_shards", {}).get(name)
    return f"{loader['images_per_s']:,.0f}" + (f" ({ratio:.2f}×)" if ratio else "")


def conditions(found: dict[str, dict[str, Any]]) -> list[str]:
    """What the figures of the table mean and where they were taken."""
    record = next(iter(found.values()))
    machine, figures = record["machine"], record["figures"]
    rounds = len(next(iter(figures["loaders"].values()))["images_per_s_rounds"])
    text = (
        f"Images a second, two workers, batches of 64 from 4,000 photographs in the page cache; in parentheses how "
        f"many times faster Headrace over shards is. Medians of {rounds} interleaved rounds of "
        f"{figures['images_a_run']:,} images, one process a loader, each peer with the best of its settings. "
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}, "
        f"torch {machine['torch']}."
    )
    lines = [text]
    for work, other in found.items():
        lines += [f"{TITLES[name]} could not do {work}: {why}" for name, why in other["figures"]["failed"].items()]
    return lines


def map_style_table() -> list[str]:
    """Datasets in Python beside torch's loader."""
    record = results.load("map_style")
    if record is None:
        return []
    sets = record["figures"].values()
    lines = [row(["dataset in Python", "samples/s", "torch, best of seven settings"]), row(["---", "---:", "---:"])]
    lines += [row([one["title"], f"{one['samples_per_s']:,.0f}", torch_cell(one)]) for one in sets]
    numbers = sorted({len(one["times_torch_rounds"]) for one in sets})
    rounds = " to ".join(dict.fromkeys([str(numbers[0]), str(numbers[-1])]))
    text = (
        f"Our loader without settings, medians of {rounds} interleaved rounds of an epoch; in parentheses how many "
        f"times faster it is. torch's loader is tried with 0, 1, 2 and 4 workers and 2 and 4 batches ahead of each."
    )
    return ["", *lines, "", text]


def torch_cell(one: dict[str, Any]) -> str:
    """The rate of torch's loader, and how many times faster ours is."""
    defaults = one.get("times_torch_defaults")
    without = f"; {defaults:.2f}× without settings" if defaults else ""
    return f"{one['torch_samples_per_s']:,.0f} ({one['times_torch']:.2f}×{without})"


def singles_table() -> list[str]:
    """Figures that stand alone, a line each."""
    lines = [line for name, text in SINGLES.items() if (line := single(name, text))]
    return ["", row(["figure", "measured"]), row(["---", "---"]), *lines] if lines else []


SINGLES = {
    "kernel": "Decode, crop and flip on one core, against torchvision | {ours_ms_per_image:.2f} ms against "
    "{torchvision_ms_per_image:.2f} ms an image, {ratio:.2f}×",
    "loader_vs_kernel": "Loader against the bare kernel on as many threads; two threads against one | "
    "{loader_of_kernel:.3f}; {of_linear:.3f} of linear",
    "scan": "Index a shard in the page cache, members of 1 KB and of 52 KB, one core | "
    "{members_per_s_1k:,.0f} and {members_per_s_52k:,.0f} members/s",
    "pack_vs_tar": "`headrace pack` against `tar -cf`, both synced to disk, start-up apart | {of_tar:.2f} of its speed",
    "first_batch": "From `ShardDataset(...)` to the first batch, {num_samples:,} samples in {num_shards} indexed "
    "shards | {first_batch_s:.3f} s",
    "memory": "Private memory over {num_epochs} epochs, after the first | {growth_percent:+.2f} %",
    "waiting": "Trainer's waiting, steps of 1.05 × the loader's time a batch: sleeping; busy on the CPU | "
    "{sleeping_waiting_percent:.2f} %; {busy_waiting_percent:.2f} %",
    "stats_cost": "Cost of statistics | {percent_of_step:.3f} % of a step",
    "worker_start": "From `iter` to the first batch, {num_workers} worker processes, a list of {num_paths:,} paths: "
    "first start, next one; torch by spawn, by forkserver | {first_s:.1f} s, {second_s:.2f} s; {torch_spawn_s:.1f} s, "
    "{torch_forkserver_s:.1f} s",
    "shared_list": "Memory that a list of {num_paths:,} paths takes on {num_ranks} ranks with {num_workers} worker "
    "processes each, in copies of the packed list | {headrace[shared][above_per_block]:.2f}",
    "kills": "Random workers killed at random times: errors that name the worker; the latest after | "
    "{named} of {num}; {latest_s:.3f} s",
    "order": "Open an epoch of 10⁹ samples in 100,000 shards; order of a batch of 256 | {open_ms:.1f} ms, "
    "{open_mb:.0f} MB; {batch_us:.0f} µs",
    "restore": "Resume the order at step 10 and at step 10⁷ of 10⁹ samples; size of the state | {step_10_ms:.1f} and "
    "{step_10m_ms:.1f} ms; {state_bytes} bytes",
}
"""A line of the table for each benchmark, filled in from its figures."""


def single(name: str, text: str) -> str | None:
    """One line, None if the figure was never measured."""
    record = results.load(name)
    return None if record is None else row(text.format(**record["figures"]).split(" | "))


def row(cells: list[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def write(readme: Path) -> None:
    """Writes the figures into the README."""
    fill(readme, [*loaders_table(), *map_style_table(), *singles_table()])


def fill(page: Path, lines: list[str]) -> None:
    """Replaces what stands between the markers of a page."""
    text = page.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page} lacks the lines {BEGIN!r} and {END!r}")
    page.write_text("\n".join([before + BEGIN, *lines, END + after]))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readme", type=Path, default=README)
    write(parser.parse_args().readme)


if __name__ == "__main__":
    main()
