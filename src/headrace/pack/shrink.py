"""Shrinks one JPEG."""

from __future__ import annotations

import io

from headrace.errors import CorruptImageError
from headrace.pack.options import ResizeOptions

JPEG_EXTENSIONS = frozenset({"jpg", "jpeg"})
START_OF_JPEG = b"\xff\xd8\xff"
DRAFT_FACTOR = 2
"""The decoder may scale down by itself (in the DCT domain), but never below twice the size that is asked for: the
resampling that follows decides how the image looks."""


def is_candidate(field: str) -> bool:
    """Whether a field may hold a JPEG, by its name."""
    return field.rpartition(".")[2] in JPEG_EXTENSIONS


def shrink_jpeg(data: memoryview | bytes, options: ResizeOptions) -> bytes | None:
    """The image with its shorter edge at `shorter_px`, or None where it is kept byte for byte.

    Kept are images that are small enough already and files that are no JPEG. EXIF (with its orientation) and the
    colour profile go along; the pixels are resampled as they lie in the file.

    Raises:
        CorruptImageError: The image cannot be decoded.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        if bytes(data[:3]) != START_OF_JPEG:
            Image.open(io.BytesIO(data)).close()  # of another format, or nothing
            return None
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
            size = target_size(image.size, options.shorter_px)
            if size is None:
                return None
            extras = {name: image.info[name] for name in ("exif", "icc_profile") if image.info.get(name)}
            image.draft(None, (size[0] * DRAFT_FACTOR, size[1] * DRAFT_FACTOR))
            small = image.resize(size, Image.Resampling.LANCZOS)
            out = io.BytesIO()
            small.save(out, "JPEG", quality=options.quality, **extras)
            return out.getvalue()
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise CorruptImageError("an image cannot be decoded for resizing", got=str(error)) from error


def target_size(size: tuple[int, int], shorter_px: int) -> tuple[int, int] | None:
    """(width, height) with the shorter edge at `shorter_px` and the same proportions, None where nothing shrinks."""
    width, height = size
    shorter = min(width, height)
    if shorter <= shorter_px:
        return None
    return max(1, round(width * shorter_px / shorter)), max(1, round(height * shorter_px / shorter))
