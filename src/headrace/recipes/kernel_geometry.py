"""Geometry as the native kernel takes it."""

from __future__ import annotations

from typing import Any

from headrace import _native
from headrace.contracts import Exif, ImageLimits
from headrace.recipes.draws import log_ratio
from headrace.recipes.geometry import CenterCrop, Geometry, RandomCrop, RandomIoUCrop, RandomResizedCrop, Resize


def kernel_geometry(
    geometry: Geometry, *, exif: Exif = "ignore", dct_scaling: bool = False, limits: ImageLimits | None = None
) -> _native.Geometry:
    """The kernel's own description of a geometry. `exif` and `dct_scaling` matter for JPEGs only."""
    limits = limits or ImageLimits()
    height, width = geometry.fixed_size or (0, 0)
    return _native.Geometry(
        height=height,
        width=width,
        apply_exif=exif == "apply",
        dct_scaling=dct_scaling,
        max_pixels=limits.pixels,
        max_scans=limits.scans,
        max_decoder_bytes=limits.decoder_bytes,
        flip_first=geometry.flip_first,
        **crop_arguments(geometry),
        **flip_arguments(geometry),
    )


def crop_arguments(geometry: Geometry) -> dict[str, Any]:
    """Kind, resize and crop."""
    resize, crop = geometry.resize, geometry.crop
    resized = {} if resize is None else resize_arguments(resize)
    match crop:
        case RandomResizedCrop():
            return {
                "kind": "random_resized_crop",
                "filter": crop.filter,
                "scale": crop.scale,
                "ratio": crop.ratio,
                "log_ratio": log_ratio(crop.ratio),
                "crop_op": crop.op,
            }
        case RandomIoUCrop():
            return {"kind": "boxes"} if resize is None else {"kind": "boxes", "filter": resize.filter}
        case RandomCrop():
            return {"kind": "resize_random_crop" if resize else "random_crop", "crop_op": crop.op, **resized}
        case CenterCrop():
            return {"kind": "resize_center_crop" if resize else "center_crop", **resized}
    return {"kind": "resize_center_crop" if resize else "full", **resized}


def resize_arguments(resize: Resize) -> dict[str, Any]:
    """Target, cap and filter of a resize."""
    return {
        "resize_height": resize.height,
        "resize_width": resize.width,
        "max_size": resize.max_size,
        "filter": resize.filter,
    }


def flip_arguments(geometry: Geometry) -> dict[str, Any]:
    """Probability and place of a flip."""
    flip = geometry.flip
    return {} if flip is None else {"flip_probability": flip.probability, "flip_op": flip.op}
