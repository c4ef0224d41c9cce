"""A run of ops that the kernel does in one pass: geometry, then a table of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.recipes.geometry import Geometry
from headrace.recipes.op import Op, torchvision_name
from headrace.recipes.pointwise import POINTWISE_NAMES, Form, Table, advance, form_of, ramp, table_of
from headrace.recipes.recognise import Pixels, recognise_geometry

FORM_AFTER: dict[str, Form | None] = {
    "ConvertImageDtype": None,
    "Normalize": None,
    "PILToTensor": "tensor",
    "ToDtype": None,
    "ToImage": "image",
    "ToPILImage": "pil",
    "ToTensor": None,
}
"""What an image is after these; others leave it what it was."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """Consecutive ops that are fused.

    Crops and flips move values without changing them, so that their place among the pointwise ops does not matter.
    """

    ops: tuple[Op, ...] = ()
    """The ops themselves, for rows that the kernel leaves to torchvision."""
    geometry: Geometry = field(default_factory=Geometry)
    table: Table | None = None
    """The map of values; None where the span ends with a PIL image."""
    start: Form = "pil"
    """What the span takes."""
    end: Form = "pil"
    """What it gives."""


@dataclass(slots=True, kw_only=True)
class Growth:
    """A span while ops are tried."""

    exact: bool
    value: Any
    geometry: Geometry
    refusal: str | None = None
    """Why the last op was not taken."""

    @property
    def pixels(self) -> Pixels:
        """What the next op works on."""
        table = table_of(self.value)
        if table is None:
            return "pil"
        return "uint8" if table.is_identity else "other"

    def take(self, op: Op) -> bool:
        """Takes an op in, or says in `refusal` why not."""
        known = torchvision_name(op.call)
        if known is None:
            self.refusal = "not a transform that the kernel knows"
        elif known.name in POINTWISE_NAMES:
            self.value, self.refusal = advance(self.value, op)
        else:
            self.refusal = self.take_geometry(known.name, op)
        return self.refusal is None

    def take_geometry(self, name: str, op: Op) -> str | None:
        """Adds a step of geometry; the reason where that fails."""
        step = recognise_geometry(name, op, self.pixels, exact=self.exact)
        if step is None:
            return "not a transform that the kernel knows"
        if isinstance(step, str):
            return step
        grown = self.geometry.then(step)
        if isinstance(grown, str):
            return grown
        self.geometry = grown
        return None


def grow(ops: Sequence[Op], start: Form, *, exact: bool) -> tuple[Span, str | None]:
    """The longest span at the head of `ops`.

    Args:
        ops: What is to be done.
        start: What the first op gets.
        exact: As in `recognise_geometry`.

    Returns:
        The span, empty where even the first op is not known, and the reason why it ends (None: nothing is left).
    """
    growth = Growth(exact=exact, value=ramp(start), geometry=Geometry())
    num_taken = 0
    for op in ops:
        if not growth.take(op):
            break
        num_taken += 1
    span = Span(
        ops=tuple(ops[:num_taken]),
        geometry=growth.geometry,
        table=table_of(growth.value),
        start=start,
        end=form_of(growth.value),
    )
    return span, growth.refusal


def form_before(ops: Sequence[Op]) -> Form | None:
    """What images are after `ops`, as far as the torchvision conversions among them say.

    Other callables may change it too: that is looked at again on every image.

    Returns:
        The form, or None where the values are no longer the 8-bit ones that the kernel takes.
    """
    form: Form | None = "pil"
    for op in ops:
        known = torchvision_name(op.call)
        if known is not None:
            form = FORM_AFTER.get(known.name, form)
    return form
