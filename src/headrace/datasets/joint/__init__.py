"""Whole samples go through a transform together: images in the kernel, masks, boxes and points as they went."""

from headrace.datasets.joint.program import JointProgram

__all__ = ["JointProgram"]
