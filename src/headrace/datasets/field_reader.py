"""How the bytes of a field become what `headrace.field` says it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from headrace import codecs
from headrace._base.brief import brief
from headrace.datasets import coordinates
from headrace.datasets.field import STRUCTURED, Field
from headrace.datasets.labels import Labels
from headrace.datasets.plan import DecodeOptions
from headrace.errors import DecodeError, MissingFieldError


class FieldReader:
    """Reads one field. Holds nothing of a batch.

    Fields with structure (JSON, arrays) are read in two steps, so that several leaves share the first: `document` is
    what the codec makes of the bytes, `value` what a leaf takes of it.

    Args:
        field: What it is.
        options: How bytes are decoded.
    """

    def __init__(self, field: Field, options: DecodeOptions) -> None:
        self.field = field
        self.options = options
        self.path = None if field.get is None else codecs.parse_path(field.get)
        self.labels = Labels(field.classes)
        makers: dict[str, Callable[[Any], Any]] = {
            "boxes": coordinates.boxes,
            "keypoints": coordinates.keypoints,
            "label": self.labels.of,
            "mask": mask_of_array,
            "text": text_of,
        }
        self.make = makers.get(field.kind)

    @property
    def shares_documents(self) -> bool:
        """Whether leaves of the same extensions may share what their codec makes: none gives out a part of it itself.

        Values of kind "value" are the user's, who may change them.
        """
        structured = all(codecs.kind_of(extension) in STRUCTURED for extension in self.field.extensions)
        return structured and self.make is not None

    def passes(self, values: Any) -> bool:
        """Whether values that need no decoding are what the field says, all of them, as they are."""
        if self.field.kind == "label":
            return isinstance(values, np.ndarray) and values.dtype.kind == "i" and self.labels.all_fit(values)
        return self.make is None and self.path is None

    @property
    def blank(self) -> Any:
        """What stands in a row without a value where no other row has one: empty, of the type of all others."""
        blanks = {
            "boxes": torch.zeros((0, coordinates.BOX)),
            "keypoints": torch.zeros((0, 0, coordinates.POINT)),
            "label": torch.zeros(0, dtype=torch.int64) if self.path is not None and self.path.num_each else 0,
            "mask": torch.zeros((0, 0), dtype=torch.uint8),
            "text": "",
        }
        by_codec = {"integer": 0, "text": "", "bytes": b""}
        if self.make is not None:
            return blanks[self.field.kind]
        return by_codec.get(codecs.kind_of(self.field.extensions[0]))

    def read(self, extension: str, data: bytes) -> Any:
        """What the bytes of one sample are.

        Raises:
            SampleError: The bytes are not what the extension or the kind says, or lack what the path names.
        """
        held, kind = codecs.kind_of(extension), self.field.kind
        if held in STRUCTURED:
            return self.value(self.document(extension, data))
        if kind == "mask":
            return torch.from_numpy(codecs.decode_mask(data, self.options.limits))
        if kind == "label" and (held != "integer" or self.field.classes is not None):
            return self.labels.of_text(codecs.decode_text(extension, data))
        if kind == "text":
            return codecs.decode_text(extension, data)
        return self.document(extension, data)

    def document(self, extension: str, data: bytes) -> Any:
        """What the codec makes of the bytes."""
        return codecs.decode(extension, data, allow_pickle=self.options.allow_pickle)

    def value(self, document: Any) -> Any:
        """What the leaf takes of it.

        Raises:
            MissingFieldError: The path leads to nothing, or to null.
            DecodeError: It leads to something else than the kind says.
        """
        found = document if self.path is None else self.path.of(document)
        if self.make is None:
            return found
        if found is None:
            raise MissingFieldError(
                "a field holds null" if self.path is None else f"get={self.path.text!r} leads to null",
                accepted=f"a field of kind {self.field.kind!r}",
            )
        return self.make(found)


def text_of(value: Any) -> Any:
    """A text, or a list of them.

    Raises:
        DecodeError: Anything else.
    """
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        return value
    raise DecodeError("a field of kind 'text' holds no text", got=brief(value), accepted="text, or a list")


def mask_of_array(value: Any) -> torch.Tensor:
    """An array of integers as a mask, its values as they are: uint8 of bools, int32 of uint16 and int64 of uint32.

    Raises:
        DecodeError: No array of integers of two dimensions or more.
    """
    array = np.asarray(value) if isinstance(value, (np.ndarray, torch.Tensor)) else None
    if array is None or array.dtype.kind not in "biu" or array.ndim < MASK_AXES or array.dtype == np.uint64:
        got = brief(value) if array is None else f"{array.dtype} of shape {array.shape}"
        raise DecodeError(
            "a field of kind 'mask' holds no mask", got=got, accepted="an array of integers of shape (..., H, W)"
        )
    wider = {"bool": np.uint8, "uint16": np.int32, "uint32": np.int64}
    dtype = wider.get(array.dtype.name, array.dtype.newbyteorder("="))
    return torch.from_numpy(np.array(array, dtype=dtype))


MASK_AXES = 2
