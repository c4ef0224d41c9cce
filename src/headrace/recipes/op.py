"""One transform of a flat list, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Family: TypeAlias = Literal["v1", "v2"]


class TorchvisionName(NamedTuple):
    """A class of torchvision itself."""

    family: Family
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """A transform at its place in the flat list of all transforms."""

    position: int
    """Place in the list, nested containers counted flat; the `op` of its random draws."""
    call: Any
    """The transform as the user made it."""
    run: Callable[[Any], Any]
    """What runs in Python: `call`, or, for a random transform that the kernel knows, a twin that draws the kernel's
    numbers."""

    @property
    def name(self) -> str:
        """How an explanation or an error calls it."""
        return str(getattr(self.call, "__name__", type(self.call).__name__))


def torchvision_name(call: object) -> TorchvisionName | None:
    """The torchvision class that `call` is an untouched instance of, None for anything else.

    Exactly the class: a subclass may override anything, and so may a method set on the instance or a hook.
    The class is known by its module and name, so that torchvision need not be imported here.
    """
    kind = type(call)
    module = kind.__module__
    if not module.startswith("torchvision.transforms.") or is_altered(call):
        return None
    family: Family = "v2" if module.startswith("torchvision.transforms.v2") else "v1"
    return TorchvisionName(family, kind.__qualname__)


def is_altered(call: object) -> bool:
    """Whether this very instance does more than its class says."""
    attributes, kind = getattr(call, "__dict__", {}), type(call)
    hooks = ("_forward_hooks", "_forward_pre_hooks")
    replaced = any(callable(getattr(kind, name, None)) for name in attributes)
    return replaced or any(attributes.get(name) for name in hooks)


def family_of(call: object) -> Family | None:
    """Whether a transform is one of torchvision's, or a subclass of one: v2 ones take a whole sample, v1 an image."""
    modules = [base.__module__ for base in type(call).__mro__]
    if any(module.startswith("torchvision.transforms.v2") for module in modules):
        return "v2"
    if any(module.startswith("torchvision.transforms.") for module in modules):
        return "v1"
    return None
