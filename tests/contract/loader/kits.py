"""The loaders that the contract holds for: torch's own, which is the yardstick, and ours on each engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch.utils.data

import headrace as hr


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """One kind of loader, made with the arguments of torch's."""

    name: str
    make_loader: Callable[..., Any]
    arguments: dict[str, Any]
    """What makes it one of this kind; a test may say something else."""
    is_torch: bool = False
    has_workers: bool = True
    has_processes: bool = False
    made: list[Any] = field(default_factory=list)

    def make(self, *arguments: Any, **named: Any) -> Any:
        """A loader, which is closed after the test."""
        loader = self.make_loader(*arguments, **(self.arguments | named))
        self.made.append(loader)
        return loader

    def close(self) -> None:
        """Ends what loaders of this test have left; torch's end with their iterators."""
        for loader in self.made:
            if not self.is_torch:
                loader.close()
        self.made.clear()


def kits() -> list[Kit]:
    """All kinds. One worker process is enough for what is promised here; several are the engines' contract."""
    torchs, ours = torch.utils.data.DataLoader, hr.DataLoader
    return [
        Kit(name="torch", make_loader=torchs, arguments={"num_workers": 0}, is_torch=True, has_workers=False),
        Kit(name="torch-workers", make_loader=torchs, arguments={"num_workers": 1}, is_torch=True, has_processes=True),
        Kit(name="caller", make_loader=ours, arguments={"num_workers": 0}, has_workers=False),
        Kit(name="threads", make_loader=ours, arguments={"num_workers": 2, "engine": "threads"}),
        Kit(
            name="processes",
            make_loader=ours,
            arguments={"num_workers": 1, "engine": "processes"},
            has_processes=True,
        ),
    ]
