"""Parts of a sample as arrays, for libraries that know nothing else, and back as what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from headrace.recipes.joint.boxes import convert

Array: TypeAlias = npt.NDArray[Any]
Size: TypeAlias = tuple[int, int]
COLUMNS = {"bboxes": 4, "keypoints": 2}
PIL_CHANNELS = frozenset({3, 4})


class Part(NamedTuple):
    """One part of a sample on its way through another library."""

    array: Any
    """What that library gets: an array, or a list of them."""
    back: Callable[[Any, Size], Any]
    """Makes of its result, and of the height and width of the new image, what the part was: its kind and type."""


def pixel_part(value: Any, *, channels_first: bool) -> Part:
    """An image or a mask: PIL, an array (H, W) or (H, W, C), a tensor (H, W) or (C, H, W), or a list of them.

    Args:
        value: The image.
        channels_first: Whether a tensor that the library makes of several channels has them first.
    """
    if isinstance(value, (list, tuple)):
        pieces = [pixel_part(one, channels_first=channels_first) for one in value]
        return Part(
            [piece.array for piece in pieces],
            lambda made, size: type(value)(piece.back(one, size) for piece, one in zip(pieces, made, strict=True)),
        )
    given = pixels_of(value)
    array = carried(given)

    def back(made: Any, _: Size) -> Any:
        array_made = made.numpy() if isinstance(made, torch.Tensor) else made
        if array_made.dtype == array.dtype != given.dtype:
            array_made = array_made.astype(given.dtype)
            made = torch.from_numpy(array_made) if isinstance(made, torch.Tensor) else array_made
        return pixels_like(value, made, channels_first=channels_first)

    return Part(array, back)


def pixels_of(value: Any) -> Array:
    """Pixels with their channels last; tensors of one channel, and masks, without an axis for it."""
    if isinstance(value, torch.Tensor):
        array: Array = value.detach().cpu().numpy()
        if array.ndim != 3:
            return array
        return array[0] if len(array) == 1 else np.ascontiguousarray(array.transpose(1, 2, 0))
    return np.array(value) if isinstance(value, Image.Image) else np.asarray(value)


def carried(array: Array) -> Array:
    """The same values in a type that OpenCV moves: it knows no truth values, no half floats, no long integers."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind not in "iu" or array.dtype in (np.uint8, np.uint16, np.int16):
        return array
    short = np.iinfo(np.int16)
    fits = not array.size or (array.min() >= short.min and array.max() <= short.max)
    return array.astype(np.int16 if fits else np.float64)


def pixels_like(value: Any, made: Any, *, channels_first: bool) -> Any:
    """Pixels as what they were; a type that they were changed to stays."""
    if isinstance(value, Image.Image):
        return picture_like(value, made)
    if not isinstance(value, torch.Tensor):
        return made
    if not isinstance(made, torch.Tensor):
        tensor = planes(made)
    elif made.ndim == 3 and not channels_first:
        tensor = made.permute(2, 0, 1)
    else:
        tensor = made
    if value.ndim == 3 and tensor.ndim == 2:
        tensor = tensor[None]
    return typed_like(value, tensor)


def picture_like(value: Image.Image, made: Any) -> Any:
    """A PIL image, or a tensor (C, H, W) of what no PIL image holds."""
    if isinstance(made, torch.Tensor):
        return made
    pixels = made[..., 0] if made.ndim == 3 and made.shape[-1] == 1 else made
    known = pixels.ndim == 2 or pixels.shape[-1] in PIL_CHANNELS
    if not known or pixels.dtype not in (np.uint8, np.bool_, np.uint16):
        return planes(pixels if pixels.ndim == 3 else pixels[..., None])
    image = Image.fromarray(np.ascontiguousarray(pixels))
    palette = value.getpalette() if value.mode == "P" and image.mode == "L" else None
    if palette is not None:
        image.putpalette(palette)
    return image


def planes(array: Array) -> torch.Tensor:
    """Pixels as a tensor, channels first."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    return tensor.permute(2, 0, 1) if tensor.ndim == 3 else tensor


def coordinate_part(value: Any, kind: str, box_format: str | None) -> Part:
    """Boxes or points: a tensor, an array, or a list or tuple of rows.

    Args:
        value: Shape (rows, columns).
        kind: `bboxes` or `keypoints`.
        box_format: How the library wants boxes, a name of `BoundingBoxFormat`; None takes them as they are.
    """
    own: str = getattr(getattr(value, "format", None), "value", "")
    wanted = box_format if own and box_format is not None else own
    given = value if wanted == own else convert(value.as_subclass(torch.Tensor), own, wanted)
    array = rows_of(given, COLUMNS[kind])

    def back(made: Any, size: Size) -> Any:
        rows = np.asarray(made)
        rows = rows.reshape(len(rows), -1) if len(rows) else np.zeros((0, array.shape[1]), array.dtype)
        if wanted != own:
            rows = convert(torch.from_numpy(np.ascontiguousarray(rows)), wanted, own).numpy()
        return rows_like(value, rows, size)

    return Part(array, back)


def rows_of(value: Any, columns: int) -> Array:
    """Floating-point rows."""
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    array = array.reshape(-1, array.shape[-1]) if array.size else np.zeros((0, max(columns, *array.shape[1:], 0)))
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def rows_like(value: Any, rows: Array, size: Size) -> Any:
    """Rows as what they were; whole numbers stay whole in tensors and arrays."""
    if isinstance(value, torch.Tensor):
        array = rows if value.is_floating_point() else np.rint(rows)
        tensor = torch.from_numpy(np.ascontiguousarray(array)).to(value.dtype)
        return typed_like(value, shaped(tensor, value.shape), size)
    if isinstance(value, np.ndarray):
        array = rows if value.dtype.kind == "f" else np.rint(rows)
        return shaped(array.astype(value.dtype), value.shape)
    of_row: Callable[[Array], Any] = row_maker(value[0]) if len(value) else list
    return type(value)(of_row(row) for row in rows)


def row_maker(row: Any) -> Callable[[Array], Any]:
    """What makes rows of the kind of this one."""
    if isinstance(row, torch.Tensor):
        return lambda made: torch.from_numpy(made.copy()).to(row.dtype)
    if isinstance(row, np.ndarray):
        return lambda made: made.astype(row.dtype)
    return (lambda made: tuple(made.tolist())) if isinstance(row, tuple) else (lambda made: made.tolist())


def shaped(rows: Any, shape: tuple[int, ...]) -> Any:
    """Rows of points that lie in more axes, where none was left out; else one after the other."""
    whole = rows.size if isinstance(rows, np.ndarray) else rows.numel()
    return rows.reshape(shape) if len(shape) != 2 and whole == int(np.prod(shape)) else rows


def label_part(value: Any) -> Part:
    """Labels of boxes or points, one for each: a tensor, an array, a list or a tuple, of numbers or texts.

    Numbers that float32 cannot hold would come back as others, so they go as texts.
    """
    originals = value.tolist() if isinstance(value, (torch.Tensor, np.ndarray)) else list(value)
    by_text = {str(one): one for one in originals}
    as_text = not all(isinstance(one, str) or float(np.float32(one)) == one for one in originals)

    def back(made: Any, _: Size) -> Any:
        kept = np.asarray(made).tolist()
        return labels_like(value, [by_text[one] for one in kept] if as_text else kept)

    return Part([str(one) for one in originals] if as_text else originals, back)


def labels_like(value: Any, kept: list[Any]) -> Any:
    """Labels as what they were."""
    if isinstance(value, torch.Tensor):
        return typed_like(value, torch.tensor(kept, dtype=value.dtype))
    if isinstance(value, np.ndarray):
        return np.array(kept, dtype=value.dtype)
    kinds = {type(one) for one in value}
    if kinds == {int}:
        kept = [int(one) for one in kept]
    return type(value)(kept)


def typed_like(value: torch.Tensor, tensor: torch.Tensor, size: Size | None = None) -> torch.Tensor:
    """A tensor of the class of another; boxes and points of a new canvas."""
    if type(value) is torch.Tensor:
        return tensor
    # torchvision is optional and slow to import; whoever has such tensors has imported it
    from torchvision import tv_tensors

    canvas = {} if size is None or not hasattr(value, "canvas_size") else {"canvas_size": size}
    return tv_tensors.wrap(tensor, like=value, **canvas)  # type: ignore[no-any-return]


def size_of_pixels(made: Array | torch.Tensor) -> Size:
    """Height and width of what the library made: an array, or a tensor."""
    height, width = made.shape[:2] if isinstance(made, np.ndarray) else made.shape[-2:]
    return int(height), int(width)
