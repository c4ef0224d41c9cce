"""The reference path: torchvision's own transforms, one after the other, with the sample's random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import SampleError, TransformError
from headrace.recipes.op import Op
from headrace.recipes.randomness import sample_randomness


def apply_ops(ops: Sequence[Op], value: Any, key: int) -> Any:
    """Runs ops on an image, or on a whole sample.

    Args:
        ops: What to run; random ones that the kernel knows draw from `key`.
        value: What the first op gets.
        key: Key of the sample.

    Raises:
        TransformError: A transform raised; its exception is the `__cause__`.
        SampleError: A transform raised one itself; it is passed on as it is.
    """
    with sample_randomness(key):
        for op in ops:
            try:
                value = op.run(value)
            except SampleError:
                raise
            except Exception as error:
                raise TransformError(
                    f"{begin(op.name)}(number {op.position + 1} of its list) raised {type(error).__name__}: {error}",
                    stage="transform",
                ) from error
    return value


def begin(name: str) -> str:
    """How the error of a transform begins."""
    return f"the transform {name} "


def is_raised_by(error: Exception, name: str) -> bool:
    """Whether an error says that a transform of this name raised."""
    return isinstance(error, TransformError) and error.what.startswith(begin(name))
