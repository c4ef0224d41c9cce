"""Makes a folder of photographs, cut from those that ship inside scikit-image and scikit-learn.

Sizes and qualities are those of common photograph sets. A number and a seed give the same files, whatever made them.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from PIL import Image

from headrace.errors import SourceError

SIZES: Final = ((500, 375), (375, 500), (500, 333), (500, 400), (640, 480), (400, 300), (500, 500))
"""Width and height in pixels, as photographs in ImageNet commonly have them."""

QUALITIES: Final = (85, 92, 95, 96)

SOURCES: Final = {
    "astronaut": (("skimage", "data/astronaut.png"),),
    "cat": (("skimage", "data/chelsea.png"),),
    "coffee": (("skimage", "data/coffee.png"),),
    "flower": (("sklearn", "datasets/images/flower.jpg"),),
    "galaxies": (("skimage", "data/hubble_deep_field.jpg"),),
    "motorcycle": (("skimage", "data/motorcycle_left.png"), ("skimage", "data/motorcycle_right.png")),
    "retina": (("skimage", "data/retina.jpg"),),
    "rocket": (("skimage", "data/rocket.jpg"),),
    "temple": (("sklearn", "datasets/images/china.jpg"),),
    "tissue": (("skimage", "data/ihc.png"),),
}
"""Class name -> the photographs of that class, as (package, path inside it)."""

PHOTOGRAPHS_A_TASK: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Photographs that one call makes."""

    folder: Path
    sources: tuple[Path, ...]
    numbers: tuple[int, ...]
    """Each photograph's number names its file and seeds its draws."""
    seed: int


def make_photographs(
    folder: Path,
    *,
    num: int,
    seed: int = 0,
    num_processes: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> None:
    """Writes `folder/<class>/<number>.jpg`. The folder appears when it is whole; one that is there is left as it is.

    Args:
        folder: Where to write.
        num: Number of photographs, spread evenly over the classes.
        seed: Another seed gives other photographs.
        num_processes: Processes that share the work.
        on_progress: Called with the number of photographs made since the last call.

    Raises:
        SourceError: The packages with the source photographs are not installed.
    """
    if folder.is_dir():
        return
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    try:
        tasks = plan(partial, num=num, seed=seed)
        report = on_progress or (lambda _: None)
        for made in run_tasks(tasks, num_processes):
            report(made)
        # The winner of two that make the same folder leaves nothing for the other to do.
        if not folder.is_dir():
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def plan(folder: Path, *, num: int, seed: int) -> list[Task]:
    """The tasks that make a folder; makes the folders of the classes."""
    tasks = []
    for index, (name, sources) in enumerate(SOURCES.items()):
        (folder / name).mkdir(parents=True)
        paths = tuple(locate(package, inside) for package, inside in sources)
        numbers = range(index, num, len(SOURCES))
        for start in range(0, len(numbers), PHOTOGRAPHS_A_TASK):
            part = tuple(numbers[start : start + PHOTOGRAPHS_A_TASK])
            tasks.append(Task(folder=folder / name, sources=paths, numbers=part, seed=seed))
    return tasks


def locate(package: str, inside: str) -> Path:
    """Path of a file that an installed package ships, found without importing the package."""
    found = importlib.util.find_spec(package)
    for root in (found.submodule_search_locations or []) if found else []:
        if (path := Path(root, inside)).is_file():
            return path
    raise SourceError(
        f"the photograph {inside} of the package {package} is not there",
        remedy="Install the demo's packages (pip install 'headrace[demo]'), or name a folder of your own with --data.",
    )


def run_tasks(tasks: list[Task], num_processes: int) -> Iterator[int]:
    """Runs the tasks; yields the number of photographs that each made."""
    if num_processes <= 1:
        yield from map(run_task, tasks)
        return
    with ProcessPoolExecutor(num_processes, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_task, task) for task in tasks]):
            yield done.result()


def run_task(task: Task) -> int:
    """Makes the photographs of a task and returns their number."""
    images = [Image.open(path).convert("RGB") for path in task.sources]
    for number in task.numbers:
        rng = random.Random(f"{task.seed}:{number}")
        cut = cut_photograph(rng.choice(images), rng)
        cut.save(task.folder / f"{number:06d}.jpg", "JPEG", quality=rng.choice(QUALITIES))
    return len(task.numbers)


def cut_photograph(image: Image.Image, rng: random.Random) -> Image.Image:
    """A random part of a photograph, at least 40 % of what fits, brought to a common size."""
    width, height = rng.choice(SIZES)
    part = min(image.width / width, image.height / height) * rng.uniform(0.4, 1.0)
    cut_width, cut_height = int(width * part), int(height * part)
    left, top = rng.randint(0, image.width - cut_width), rng.randint(0, image.height - cut_height)
    box = (left, top, left + cut_width, top + cut_height)
    return image.resize((width, height), Image.Resampling.BICUBIC, box=box)
