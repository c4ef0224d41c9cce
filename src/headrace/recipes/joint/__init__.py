"""Transforms of whole samples: what moves an image moves its masks, boxes and points, by the batch."""

from headrace.recipes.joint.sample_form import Member, MemberKind, SampleForm

__all__ = ["Member", "MemberKind", "SampleForm"]
