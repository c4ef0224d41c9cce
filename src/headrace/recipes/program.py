"""A recipe at work: columns of encoded images become batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace import _native
from headrace.contracts import I32, I64, U64, Allocate, ByteColumn, DecodeImage, Fault, Recorder
from headrace.errors import SampleError
from headrace.recipes.full_decode import Decoder
from headrace.recipes.joint.cropping import Cropping
from headrace.recipes.op import Op
from headrace.recipes.prefix_runner import PrefixRunner
from headrace.recipes.recipe import ImageRecipe
from headrace.recipes.reference import apply_ops
from headrace.recipes.row_draws import RowDraws
from headrace.recipes.rows import Rows, Settled
from headrace.recipes.span_runner import SpanRunner
from headrace.recipes.stacking import Ragged, stack
from headrace.recipes.suffix_runner import SuffixRunner
from headrace.recipes.tensors import delivered


class ImageProgram:
    """Runs an image recipe. Holds no state of a batch, so that several threads may use one at the same time.

    Args:
        recipe: What to do.
        pool: Threads of the kernel.
        decode: Decoder of what the kernel does not know (`headrace.codecs.decode_image`).
        recorder: Counts `pillow_decodes`, the images that Pillow decoded.
    """

    def __init__(
        self, recipe: ImageRecipe, pool: _native.Pool, *, decode: DecodeImage, recorder: Recorder | None = None
    ) -> None:
        self.recipe = recipe
        self.decoder = Decoder(recipe=recipe, pool=pool, decode=decode, recorder=recorder)
        self.prefix = PrefixRunner(SpanRunner(span=recipe.prefix, pool=pool, decoder=self.decoder))
        self.suffix = SuffixRunner(SpanRunner(span=recipe.suffix, pool=pool, decoder=self.decoder))
        self.channels_last = recipe.memory_format == "channels_last"

    def run(self, column: ByteColumn, keys: U64, allocate: Allocate, *, ragged: Ragged = "refuse") -> Rows:
        """Makes a batch of images from their bytes.

        Args:
            column: The encoded images.
            keys: Key of each sample, shape (rows,).
            allocate: Where memory comes from.
            ragged: What images of different sizes become.

        Returns:
            The images; content faults are listed in `faults`, not raised. A recipe with a Python part gets the image
            alone here; one that wants the whole sample goes through `start`, `middle` and `finish`.

        Raises:
            CollateError: Images of different shapes, and `ragged` is `refuse`.
        """
        batch = self.run_whole(column, keys, allocate)
        if batch is not None:
            return batch
        portions = self.portions(column)
        if len(portions) == 1:
            values = self.made(column, keys, allocate, portions[0])
        else:
            values = [
                value
                for rows in portions
                for value in self.settle(self.made(column, keys, allocate, rows), rows, keys, allocate)
            ]
        return self.finish(values, keys, allocate, ragged=ragged)

    def run_whole(
        self, column: ByteColumn, keys: U64, allocate: Allocate, cropping: Cropping | None = None
    ) -> Rows | None:
        """The batch in one call of the kernel; None where Python has a part in it, or sizes may differ.

        Args:
            column: The encoded images.
            keys: Key of each sample, shape (rows,).
            allocate: Where memory comes from.
            cropping: Decides the crops of the rows where they depend on boxes.
        """
        if not self.recipe.is_fused:
            return None
        return self.prefix.run_whole(column, RowDraws(keys, cropping), allocate, channels_last=self.channels_last)

    def made(self, column: ByteColumn, keys: U64, allocate: Allocate, rows: I64) -> list[Any]:
        """What the middle makes of these rows, images alone."""
        images = self.start(column, keys, allocate, rows)
        return attempted(self.recipe.middle, images, rows.tolist(), keys[rows])

    def portions(self, column: ByteColumn) -> list[I64]:
        """The rows of a column, in order, in portions for `start`.

        Where the Python part begins with whole images, a batch of them may be gigabytes. Mostly there is one portion;
        where there are more, each goes through `start`, `middle` and `settle` before the next one is begun.
        """
        return self.prefix.portions(column)

    def start(
        self,
        column: ByteColumn,
        keys: U64,
        allocate: Allocate,
        rows: I64 | None = None,
        params: I32 | None = None,
        cropping: Cropping | None = None,
    ) -> list[Any]:
        """Decodes and runs the prefix.

        Args:
            column: The encoded images.
            keys: Key of each sample of the column.
            allocate: Where memory comes from.
            rows: Which rows of the column, one of `portions`; all if None.
            params: Gets the geometry of each row that the kernel does, shape (rows of the column, 8).
            cropping: Decides the crops of the rows where they depend on boxes.

        Returns:
            One entry a row: what the middle gets (a PIL image, a `tv_tensors.Image` or a tensor), or a `Fault`.
        """
        rows = np.arange(len(keys)) if rows is None else rows
        by_kernel, draws = self.recipe.fuse is not False, RowDraws(keys, cropping)
        return self.prefix.run_apart(column, draws, allocate, rows, by_kernel=by_kernel, params=params)

    def middle(self, value: Any, key: int) -> Any:
        """Runs the Python part on one image, or on one sample where `recipe.whole_sample`.

        Raises:
            TransformError: A transform raised.
        """
        return apply_ops(self.recipe.middle, value, int(key))

    def settle(self, values: Sequence[Any], rows: I64, keys: U64, allocate: Allocate) -> list[Any]:
        """Runs the suffix on one of several portions, so that whole images need not wait for the rest of the batch.

        Args:
            values: What the middle gave, one for each of `rows`; a `Fault` or None stays as it is.
            rows: Rows of the batch.
            keys: Key of each sample of the batch.
            allocate: Where memory comes from.

        Returns:
            Values for `finish`.
        """
        if not self.recipe.suffix.ops:
            return list(values)
        live = [at for at, value in enumerate(values) if value is not None and not isinstance(value, Fault)]
        batch = self.finish([values[at] for at in live], keys[rows[live]], allocate, ragged="list")
        settled = list(values)
        for place, at in enumerate(live):
            settled[at] = Settled(batch.values[place])
        for fault in batch.faults:
            settled[live[fault.row]] = Fault(row=int(rows[live[fault.row]]), error=fault.error)
        return settled

    def finish(self, values: Sequence[Any], keys: U64, allocate: Allocate, *, ragged: Ragged = "refuse") -> Rows:
        """Runs the suffix on what the middle gave, and puts the batch together.

        Args:
            values: One a row: an image of any kind, what `settle` made of it, or a `Fault`.
            keys: Key of each sample, shape (rows,).
            allocate: Where memory comes from.
            ragged: What images of different shapes become.

        Raises:
            CollateError: Images of different shapes, and `ragged` is `refuse`.
        """
        if self.recipe.suffix.ops:
            batch = self.suffix.run_pixels(values, RowDraws(keys), allocate, channels_last=self.channels_last)
            if batch is not None:
                return batch
            values = attempted(self.recipe.suffix.ops, values, range(len(keys)), keys)
        return stack([final(value) for value in values], allocate, channels_last=self.channels_last, ragged=ragged)

    def run_one(self, data: bytes | memoryview, key: int) -> Any:
        """One image through the reference path: Pillow and torchvision, with the draws of `key`.

        Returns:
            What the transform gives; a tensor of shape (C, H, W) where that is an image.

        Raises:
            SampleError: The image cannot be decoded, or a transform raised.
        """
        image = self.decoder.decode(data, self.recipe.limits, self.recipe.exif)
        return delivered(apply_ops(self.recipe.ops, image, int(key)))


def attempted(ops: Sequence[Op], values: Sequence[Any], rows: Iterable[int], keys: U64) -> list[Any]:
    """Runs ops on each value that is neither a fault nor settled; what fails becomes a fault."""
    return [
        value if isinstance(value, (Fault, Settled)) else attempt(ops, value, key, row)
        for value, row, key in zip(values, rows, keys.tolist(), strict=True)
    ]


def final(value: Any) -> Any:
    """What is delivered of a row: its fault, or its image."""
    if isinstance(value, Settled):
        return value.value
    return value if isinstance(value, Fault) else delivered(value)


def attempt(ops: Sequence[Op], value: Any, key: int, row: int) -> Any:
    """Runs ops on one value; a content fault becomes a `Fault` of this row."""
    try:
        return apply_ops(ops, value, key)
    except SampleError as error:
        return Fault(row=row, error=error)
