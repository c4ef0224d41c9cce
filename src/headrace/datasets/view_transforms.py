"""The transforms of several views, wherever the caller put `Views`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import OptionError
from headrace.recipes.views import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTransforms:
    """What each view goes through."""

    transforms: tuple[object, ...]
    """One a view, as `transform=` takes it; the same object where views go through the same."""
    field: str | None = None
    """The field that has views, where the transforms are by field; None: the sample has."""


def view_transforms(transform: object) -> ViewTransforms | None:
    """Reads the views out of a transform, or out of a dict of transforms by field; None where there are none.

    Raises:
        OptionError: Several fields have views.
    """
    if isinstance(transform, Views):
        return ViewTransforms(transforms=transform.transforms)
    if not isinstance(transform, Mapping):
        return None
    found = {name: one for name, one in transform.items() if isinstance(one, Views)}
    if len(found) > 1:
        raise OptionError("several fields have Views", got=", ".join(map(repr, found)), accepted="one such field")
    for name, views in found.items():
        by_view = tuple(one for view, num in views.views for one in [{**transform, name: view}] * num)
        return ViewTransforms(transforms=by_view, field=name)
    return None
