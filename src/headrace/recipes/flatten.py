"""A transform as the user wrote it becomes a flat list of ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.errors import OptionError
from headrace.recipes.counted import counted
from headrace.recipes.op import Op, family_of, torchvision_name


def flatten(transform: Any) -> tuple[Op, ...]:
    """The ops of a transform in the order they run; containers that only call one after the other are opened.

    Args:
        transform: None, a torchvision Compose (v1 or v2), a `torch.nn.Sequential`, one transform, or any callable.

    Raises:
        OptionError: Something that cannot be called, or not with a sample.
    """
    return tuple(
        Op(position=position, call=call, run=counted(call, position)) for position, call in enumerate(leaves(transform))
    )


def leaves(transform: Any) -> Iterator[Any]:
    """Walks through containers, depth first."""
    if transform is None:
        return
    if not callable(transform):
        raise OptionError(
            "a transform must be callable",
            got=repr(transform),
            accepted="a torchvision Compose or transform, torch.nn.Sequential, any callable, or None",
        )
    if takes_arrays_by_name(transform):
        raise OptionError(
            "a transform of albumentations takes arrays by name, not a sample",
            got=type(transform).__name__,
            accepted="headrace.Albumentations(transform)",
            remedy="Wrap it: transform=hr.Albumentations(...)",
        )
    children = children_of(transform)
    if children is None:
        yield transform
        return
    for child in children:
        yield from leaves(child)


def children_of(transform: Any) -> list[Any] | None:
    """What a plain container holds, None for anything that is not one."""
    known = torchvision_name(transform)
    if known is not None and known.name == "Compose":
        return list(transform.transforms)
    if is_plain_sequential(transform):
        return list(transform)
    return None


def is_plain_sequential(transform: Any) -> bool:
    """Whether it is a `torch.nn.Sequential` and no subclass."""
    kind = type(transform)
    return kind.__module__ == "torch.nn.modules.container" and kind.__qualname__ == "Sequential"


def takes_whole_sample(transform: Any) -> bool:
    """Whether a transform is called with the whole sample, or with the image alone.

    torchvision's v1 transforms know nothing but an image; its v2 transforms, and any callable that is not
    torchvision's, get the sample. A Sequential is what its first torchvision member is.
    """
    if transform is None:
        return False
    if is_plain_sequential(transform):
        families = [family_of(child) for child in leaves(transform)]
        return next((family for family in families if family is not None), "v2") == "v2"
    return family_of(transform) != "v1"


def takes_arrays_by_name(transform: Any) -> bool:
    """Whether it is one of albumentations as it is; a subclass that is called in a way of its own is not."""
    call = getattr(type(transform), "__call__", None)  # noqa: B004 - which class defines it, not whether
    return str(getattr(call, "__module__", "")).partition(".")[0] == "albumentations"
