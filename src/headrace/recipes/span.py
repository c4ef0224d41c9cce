"""A run of ops that the kernel does in one pass: geometry, then a table of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.recipes.geometry import Geometry, GeometryStep, RandomResizedCrop, Resize
from headrace.recipes.joint.effects import MEMBER_NAMES, effects_of
from headrace.recipes.joint.sample_form import SampleForm
from headrace.recipes.joint.steps import MemberStep, Retype, Sanitize, SetClamping, ToPure
from headrace.recipes.op import Op, TorchvisionName, torchvision_name
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
    steps: tuple[MemberStep, ...] = ()
    """What it does to masks, boxes and points, in order; empty where only images are concerned."""

    @property
    def image_ops(self) -> tuple[Op, ...]:
        """The ops that do anything to an image; the others could not be called with one alone."""
        return tuple(op for op in self.ops if type(op.call).__name__ not in MEMBER_NAMES)


@dataclass(slots=True, kw_only=True)
class Growth:
    """A span while ops are tried."""

    exact: bool
    value: Any
    geometry: Geometry
    form: SampleForm | None
    """The sample, where a transform gets all of it."""
    steps: list[MemberStep] = field(default_factory=list)
    refusal: str | None = None
    """Why the last op was not taken."""

    @property
    def pixels(self) -> Pixels:
        """What the next op works on."""
        table = table_of(self.value)
        if table is None:
            return "pil"
        return "uint8" if table.is_identity else "other"

    @property
    def is_joint(self) -> bool:
        """Whether more than one image is concerned."""
        return self.form is not None and self.form.is_joint

    def take(self, op: Op) -> bool:
        """Takes an op in, or says in `refusal` why not."""
        known = torchvision_name(op.call)
        if known is None:
            self.refusal = "not a transform that the kernel knows"
        else:
            self.refusal = self.hidden_tensors(known.name) or self.take_known(known, op)
        return self.refusal is None

    def take_known(self, known: TorchvisionName, op: Op) -> str | None:
        """Takes one of torchvision's own transforms in; the reason where that fails."""
        if known.name not in POINTWISE_NAMES and known.name not in MEMBER_NAMES:
            return self.take_geometry(known, op)
        steps = effects_of(known, op, self.form) if self.form is not None and self.is_joint else ()
        if isinstance(steps, str):
            return steps
        if any(isinstance(step, Sanitize) for step in steps) and any(isinstance(step, Sanitize) for step in self.steps):
            return "boxes are sanitised a second time"
        if known.name in POINTWISE_NAMES:
            self.value, refusal = advance(self.value, op, alone=self.form is None)
            if refusal is not None:
                return refusal
        elif not self.is_joint:
            return "not a transform that the kernel knows"
        self.steps += steps
        return None

    def take_geometry(self, known: TorchvisionName, op: Op) -> str | None:
        """Adds a step of geometry; the reason where that fails."""
        step = recognise_geometry(known.name, op, self.pixels, exact=self.exact)
        if step is None:
            return "not a transform that the kernel knows"
        if isinstance(step, str):
            return step
        if self.is_joint and (refusal := self.joint_refusal(known, op, step)):
            return refusal
        grown = self.geometry.then(step)
        if isinstance(grown, str):
            return grown
        if grown.needs_boxes and not self.geometry.needs_boxes and (lack := self.lack_of_boxes()):
            return lack
        self.geometry = grown
        if self.is_joint:
            self.steps.append(step)
        return None

    def joint_refusal(self, known: TorchvisionName, op: Op, step: GeometryStep) -> str | None:
        """Why a step of geometry that the kernel knows does not fit a sample of several members."""
        if known.family == "v1":
            return "a v1 transform knows nothing but one image"
        if not isinstance(step, (RandomResizedCrop, Resize)):
            return None
        if any(isinstance(earlier, Retype) for earlier in self.steps):
            return "resamples members whose types were changed before"
        filter_name = str(getattr(op.call.interpolation, "value", op.call.interpolation))
        return "nearest-exact takes other pixels of masks" if filter_name == "nearest-exact" else None

    def lack_of_boxes(self) -> str | None:
        """Why a crop that depends on boxes does not fit."""
        if self.form is None or not self.form.images or len(self.form.places("boxes")) != 1:
            return "needs an image and one set of boxes"
        changed = any(not isinstance(earlier, SetClamping) for earlier in self.steps)
        return "depends on boxes that were changed before" if changed else None

    def hidden_tensors(self, name: str) -> str | None:
        """Why an op is not fused after a conversion to pure tensors: torchvision takes only the first for an image."""
        if not self.is_joint or self.form is None or name in {"Identity", "ToPureTensor"}:
            return None
        several = len(self.form.images) > 1 and form_of(self.value) == "tensor"
        if several or any(isinstance(step, ToPure) for step in self.steps):
            return "torchvision takes only the first of several pure tensors for an image"
        return None


def grow(ops: Sequence[Op], start: Form, *, exact: bool, form: SampleForm | None = None) -> tuple[Span, str | None]:
    """The longest span at the head of `ops`.

    Args:
        ops: What is to be done.
        start: What the first op gets.
        exact: As in `recognise_geometry`.
        form: The sample, where the ops get all of it; None: they get one image.

    Returns:
        The span, empty where even the first op is not known, and the reason why it ends (None: nothing is left).
    """
    growth = Growth(exact=exact, value=ramp(start), geometry=Geometry(), form=form)
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
        steps=tuple(growth.steps),
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
