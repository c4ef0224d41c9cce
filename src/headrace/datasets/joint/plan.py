"""What is done to whole samples, as data."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.datasets.fields import Entry, SampleShape
from headrace.recipes import ImageRecipe
from headrace.recipes.joint import Member, SampleForm


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPlan:
    """One transform for the whole sample."""

    form: SampleForm
    recipe: ImageRecipe
    """What each image goes through; its spans say what moves with it."""


def sample_form(shape: SampleShape) -> SampleForm:
    """What a transform needs to know of samples of this shape."""
    return SampleForm(
        num_leaves=len(shape.entries),
        images=tuple(place for place, entry in enumerate(shape.entries) if entry.kind == "image"),
        build=shape.build,
        members={
            place: member for place, entry in enumerate(shape.entries) if (member := member_of(entry)) is not None
        },
    )


def member_of(entry: Entry) -> Member | None:
    """What a leaf is to geometry; None where it stays as it is."""
    match entry.kind:
        case "boxes":
            return Member(kind="boxes", format=entry.field.format or "XYXY")
        case "mask" | "keypoints":
            return Member(kind=entry.kind)
        case _:
            return None
