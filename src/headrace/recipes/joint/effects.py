"""torchvision's v2 transforms read as steps for masks, boxes and points, or the reason why that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from PIL import Image

from headrace.recipes.joint.members import wrapped
from headrace.recipes.joint.sample_form import SampleForm
from headrace.recipes.joint.steps import (
    ClampBoxes,
    ClampPoints,
    Convert,
    MemberStep,
    Retype,
    Sanitize,
    SetClamping,
    ToPure,
)
from headrace.recipes.op import Op, TorchvisionName

Effects: TypeAlias = tuple[MemberStep, ...] | str
"""The steps, none where the members stay as they are; or the reason why they are not known."""

MEMBER_NAMES = frozenset(
    {"ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes", "SetClampingMode"}
)
"""torchvision classes that leave images alone."""

PIXEL_NAMES = frozenset({"Identity", "Normalize", "PILToTensor", "RGB", "ToImage", "ToTensor"})
"""torchvision classes that leave masks, boxes and points alone."""

BOX_FORMATS = frozenset({"XYXY", "XYWH", "CXCYWH"})
"""Boxes with sides along the axes; rotated ones are left to torchvision."""


def effects_of(known: TorchvisionName, op: Op, form: SampleForm) -> Effects:
    """What a transform that is no geometry does to the members of a sample.

    Args:
        known: Its class.
        op: The transform.
        form: The sample.
    """
    if known.family == "v1":
        return "a v1 transform knows nothing but one image"
    if known.name in PIXEL_NAMES:
        return ()
    read = READERS.get(known.name)
    return "not a transform whose effect on masks, boxes and points is known" if read is None else read(op.call, form)


def read_format(call: Any, _form: SampleForm) -> Effects:
    """The new format."""
    name = format_name(call.format)
    return (Convert(format=name),) if name in BOX_FORMATS else "rotated boxes are not fused"


def read_sanitize(call: Any, form: SampleForm) -> Effects:
    """Sizes, and the leaves that the labels getter picks."""
    if "boxes" not in form.kinds():
        return "there are no boxes in the sample"
    labels = labels_of(call, form)
    if isinstance(labels, str):
        return labels
    return (Sanitize(min_size=float(call.min_size), min_area=float(call.min_area), labels=labels),)


def labels_of(call: Any, form: SampleForm) -> tuple[int, ...] | str:
    """Places of the leaves that go with the boxes, found by asking the transform's own getter with a probe."""
    leaves = wrapped([probe(place, form) for place in range(form.num_leaves)], form)
    try:
        found = call._labels_getter(form.build(leaves))  # noqa: SLF001 - there is no public way to ask
    except Exception as error:  # noqa: BLE001 - what it raises now it would raise for every sample
        return f"refused by torchvision: {error}"
    if found is None:
        return ()
    entries = list(found) if isinstance(found, (tuple, list)) else [found]
    places = [place for entry in entries for place, leaf in enumerate(leaves) if leaf is entry]
    taken = {*form.images, *form.members}
    if len(places) != len(entries) or taken & set(places):
        return "its labels are not leaves of the sample"
    return tuple(places)


def probe(place: int, form: SampleForm) -> Any:
    """The smallest leaf of its kind."""
    if place in form.images:
        return Image.new("RGB", (1, 1))
    member = form.members.get(place)
    shapes = {"mask": (1, 1), "boxes": (1, 4), "keypoints": (1, 2)}
    return torch.zeros((1,) if member is None else shapes[member.kind])


def labels_of_boxes(ops: Iterable[Op], form: SampleForm) -> set[int]:
    """Places of the leaves that any of these transforms thins out with the boxes."""
    getters = [op.call for op in ops if type(op.call).__name__ == "SanitizeBoundingBoxes"]
    found = [labels_of(call, form) for call in getters]
    return {place for places in found if not isinstance(places, str) for place in places}


def read_types(call: Any, form: SampleForm) -> Effects:
    """A table of types; a single one concerns the image alone."""
    table = call.dtype
    if not isinstance(table, dict):
        return ()
    # whoever made a v2 transform has imported torchvision
    from torchvision import tv_tensors

    classes = {"mask": tv_tensors.Mask, "boxes": tv_tensors.BoundingBoxes, "keypoints": tv_tensors.KeyPoints}
    found = {}
    for kind in form.kinds():
        if classes[kind] not in table and "others" not in table:
            return f"the table of types says nothing of {kind}"
        found[kind] = table.get(classes[kind], table.get("others"))
    return (Retype(**found),)


def read_image_type(call: Any, _form: SampleForm) -> Effects:
    """`ConvertImageDtype` converts members too, whatever its name says."""
    return (Retype(mask=call.dtype, boxes=call.dtype, keypoints=call.dtype),)


def format_name(value: Any) -> str:
    """The name of a box format given as its enum or as text."""
    return str(getattr(value, "value", value)).upper()


READERS: dict[str, Callable[[Any, SampleForm], Effects]] = {
    "ClampBoundingBoxes": lambda call, _: (ClampBoxes(mode=call.clamping_mode),),
    "ClampKeyPoints": lambda _call, _form: (ClampPoints(),),
    "ConvertBoundingBoxFormat": read_format,
    "ConvertImageDtype": read_image_type,
    "SanitizeBoundingBoxes": read_sanitize,
    "SetClampingMode": lambda call, _: (SetClamping(mode=call.clamping_mode),),
    "ToDtype": read_types,
    "ToPureTensor": lambda _call, _form: (ToPure(),),
}
