"""What a transform of whole samples needs to know of them: which leaves are images, masks, boxes and points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from headrace.recipes.joint.steps import Convert, MemberStep, SetClamping, ToPure

MemberKind: TypeAlias = Literal["mask", "boxes", "keypoints"]
"""What moves with the image of a sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One leaf that moves with the image."""

    kind: MemberKind
    format: str = "XYXY"
    """Format of boxes, one of `torchvision.tv_tensors.BoundingBoxFormat`."""
    clamping: str | None = "soft"
    """Whether geometry clamps boxes, torchvision's `clamping_mode`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleForm:
    """The leaves of a sample."""

    num_leaves: int
    images: tuple[int, ...]
    """Places of the images; the first one gives the canvas of boxes and points."""
    build: Callable[[Sequence[Any]], Any]
    """Puts a sample together from its leaves."""
    members: Mapping[int, Member] = field(default_factory=dict)
    """By place."""

    @property
    def is_joint(self) -> bool:
        """Whether geometry concerns more than one image."""
        return len(self.images) + len(self.members) > 1

    def kinds(self) -> set[MemberKind]:
        """Which kinds of members there are."""
        return {member.kind for member in self.members.values()}

    def places(self, kind: MemberKind) -> list[int]:
        """Where the members of a kind are."""
        return [place for place, member in self.members.items() if member.kind == kind]


def form_after(form: SampleForm, steps: Iterable[MemberStep]) -> SampleForm:
    """The sample after these steps."""
    members = dict(form.members)
    for step in steps:
        for place in form.places("boxes"):
            if place in members and isinstance(step, Convert):
                members[place] = replace(members[place], format=step.format)
            if place in members and isinstance(step, SetClamping):
                members[place] = replace(members[place], clamping=step.mode)
        if isinstance(step, ToPure):
            members = {}
    return replace(form, members=members)
