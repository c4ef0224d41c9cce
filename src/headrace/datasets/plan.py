"""What becomes of each leaf of a sample, decided once, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from headrace.contracts import ImageLimits
from headrace.datasets.fields import SampleShape
from headrace.errors import OptionError
from headrace.recipes import ImageRecipe, compile_transform

Fuse: TypeAlias = bool | Literal["exact"]
MemoryFormat: TypeAlias = Literal["contiguous", "channels_last"]
Exif: TypeAlias = Literal["ignore", "apply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """How fields are decoded and images laid out."""

    fuse: Fuse = True
    memory_format: MemoryFormat = "contiguous"
    exif: Exif = "ignore"
    dct_scaling: bool = False
    allow_pickle: tuple[str, ...] = ()
    limits: ImageLimits = field(default_factory=ImageLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """The leaves of a sample and what is done to each of them.

    Exactly one of these holds:

    * `joint` is None and no image recipe has a Python part that wants the whole sample: leaves are independent columns.
    * `joint` is None and `whole_sample_image` names the one image leaf whose Python part gets the whole sample.
    * `joint` is a callable for the whole sample, which the kernel knows nothing of; images reach it as PIL images.
    """

    shape: SampleShape
    images: Mapping[int, ImageRecipe]
    """Recipe of each image leaf."""
    calls: Mapping[int, Callable[[Any], Any]]
    """Callable of each other leaf that has one."""
    whole_sample_image: int | None = None
    joint: Callable[[Any], Any] | None = None
    options: DecodeOptions = field(default_factory=DecodeOptions)


def plan_sample(
    shape: SampleShape, transform: object, options: DecodeOptions, *, image_only: bool = False
) -> SamplePlan:
    """Decides what is done to each leaf.

    Args:
        shape: The leaves.
        transform: None; a torchvision transform or any callable for the sample; or a dict of callables by field.
        options: Decoding and layout.
        image_only: The transform gets the image alone even where it is a v2 transform (`ImageFolder.transform`).

    Raises:
        OptionError: A dict of callables names a field that the sample has not.
    """
    images = [place for place, entry in enumerate(shape.entries) if entry.kind == "image"]
    if isinstance(transform, Mapping):
        return _plan_by_field(shape, transform, images, options)
    recipes = {place: _compile(None, options) for place in images}
    if transform is None:
        return SamplePlan(shape=shape, images=recipes, calls={}, options=options)
    if len(images) != 1:
        joint = transform if callable(transform) else _not_callable(transform)
        return SamplePlan(shape=shape, images=recipes, calls={}, joint=joint, options=options)
    recipe = _compile(transform, options)
    whole = images[0] if recipe.middle and recipe.whole_sample and not image_only and len(shape.entries) > 1 else None
    return SamplePlan(shape=shape, images={images[0]: recipe}, calls={}, whole_sample_image=whole, options=options)


def _plan_by_field(
    shape: SampleShape, transform: Mapping[str, Any], images: list[int], options: DecodeOptions
) -> SamplePlan:
    places = {ext: place for place, entry in enumerate(shape.entries) for ext in entry.extensions}
    places |= {entry.name: place for place, entry in enumerate(shape.entries)}
    recipes = {place: _compile(None, options) for place in images}
    calls: dict[int, Callable[[Any], Any]] = {}
    for name, one in transform.items():
        if name not in places:
            raise OptionError(
                "transform names a field that the sample has not", got=repr(name), accepted=", ".join(map(repr, places))
            )
        if places[name] in recipes:
            recipes[places[name]] = _compile(one, options)
        elif one is not None:
            calls[places[name]] = one if callable(one) else _not_callable(one)
    return SamplePlan(shape=shape, images=recipes, calls=calls, options=options)


def _compile(transform: object, options: DecodeOptions) -> ImageRecipe:
    return compile_transform(
        transform,
        fuse=options.fuse,
        memory_format=options.memory_format,
        exif=options.exif,
        dct_scaling=options.dct_scaling,
        limits=options.limits,
    )


def _not_callable(transform: object) -> Callable[[Any], Any]:
    raise OptionError(
        "a transform cannot be called",
        got=type(transform).__name__,
        accepted="None, a torchvision transform, any callable, or a dict of callables by field",
    )
