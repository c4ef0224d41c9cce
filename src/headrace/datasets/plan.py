"""What becomes of each leaf of a sample, decided once, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, TypeAlias

from headrace.contracts import ImageLimits
from headrace.datasets.fields import Entry, SampleShape
from headrace.datasets.joint.plan import JointPlan, sample_form
from headrace.datasets.view_transforms import ViewTransforms, view_transforms
from headrace.errors import OptionError
from headrace.recipes import ImageRecipe, compile_transform
from headrace.recipes.flatten import takes_whole_sample
from headrace.recipes.joint import SampleForm
from headrace.recipes.joint.effects import labels_of_boxes
from headrace.recipes.op import family_of

Fuse: TypeAlias = bool | Literal["exact"]
MemoryFormat: TypeAlias = Literal["contiguous", "channels_last"]
Exif: TypeAlias = Literal["ignore", "apply"]

MOVING_KINDS = frozenset({"image", "mask", "boxes", "keypoints"})
"""Kinds of fields that geometry moves."""

BESIDE_IMAGE = frozenset({"boxes", "keypoints"})
"""Kinds of which torchvision knows nothing without the size of their image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """How fields are decoded and images laid out."""

    fuse: Fuse = True
    memory_format: MemoryFormat = "contiguous"
    exif: Exif = "ignore"
    dct_scaling: bool = False
    allow_pickle: tuple[str, ...] = ()
    limits: ImageLimits = field(default_factory=ImageLimits)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplePlan:
    """The leaves of a sample and what is done to each of them.

    With `joint` the transform gets whole samples, and Python or geometry has a part in that; without it the leaves are
    independent columns.
    """

    shape: SampleShape
    images: Mapping[int, ImageRecipe]
    """Recipe of each image leaf."""
    calls: Mapping[int, ImageRecipe] = field(default_factory=dict)
    """Transform of each other leaf that has one; all of it runs in Python."""
    joint: JointPlan | None = None
    views: tuple[SamplePlan, ...] = ()
    """The plan of each of several views; the fields above are those of the first one then."""
    per_view: frozenset[int] = frozenset()
    """Places of the leaves that each view has anew; the others are those of the first view."""
    options: DecodeOptions = field(default_factory=DecodeOptions)

    @property
    def keeps_shape(self) -> bool:
        """Whether samples certainly stay of the shape that the dataset gives them."""
        return all(plan.joint is None or plan.joint.recipe.is_fused for plan in self.views or (self,))

    @property
    def moving_leaves(self) -> list[int]:
        """Places of images and of what moves with them, and of labels that go with boxes."""
        moving = [place for place, entry in enumerate(self.shape.entries) if entry.kind in MOVING_KINDS]
        return moving if self.joint is None else [*moving, *labels_of_boxes(self.joint.recipe.ops, self.joint.form)]

    @property
    def by_name(self) -> dict[str, ImageRecipe]:
        """Recipe of each leaf that has one, by the name of the leaf."""
        return {self.shape.entries[place].name: recipe for place, recipe in {**self.images, **self.calls}.items()}

    @property
    def field_calls(self) -> list[ImageRecipe]:
        """The transforms of all leaves that are no images."""
        return [recipe for plan in dict.fromkeys((self, *self.views)) for recipe in plan.calls.values()]

    @property
    def recipes(self) -> list[ImageRecipe]:
        """All recipes, one for each image leaf; that of a joint transform also where there is no image."""
        if self.views:
            return [recipe for plan in dict.fromkeys(self.views) for recipe in plan.recipes]
        return list(self.images.values()) or ([] if self.joint is None else [self.joint.recipe])


def plan_sample(shape: SampleShape, transform: object, options: DecodeOptions) -> SamplePlan:
    """Decides what is done to each leaf.

    Args:
        shape: The leaves.
        transform: None; a torchvision transform or any callable for the sample; or a dict of callables by field.
        options: Decoding and layout.

    Raises:
        OptionError: A dict of callables names a field that the sample has not, or a transform cannot be called.
    """
    if (views := view_transforms(transform)) is not None:
        return _plan_views(shape, views, options)
    form = sample_form(shape)
    if isinstance(transform, Mapping):
        return _plan_by_field(shape, transform, list(form.images), options)
    if transform is None or not (takes_whole_sample(transform) or not form.images):
        recipes = {place: _compile(transform, options) for place in form.images}
        return SamplePlan(shape=shape, images=recipes, options=options)
    recipe = _compile(transform, options, form) if form.images else _all_in_python(transform, options)
    images = dict.fromkeys(form.images, recipe)
    alone = not form.is_joint and bool(form.images) and (not recipe.middle or len(shape.entries) == 1)
    joint = None if alone else JointPlan(form=form, recipe=recipe)
    return SamplePlan(shape=shape, images=images, joint=joint, options=options)


def _plan_views(shape: SampleShape, views: ViewTransforms, options: DecodeOptions) -> SamplePlan:
    """The plans of several views; views that go through the same share one."""
    by_object = {id(one): one for one in views.transforms}
    made = {key: plan_sample(shape, one, options) for key, one in by_object.items()}
    plans = tuple(made[id(one)] for one in views.transforms)
    if views.field is not None:
        per_view = frozenset([_place_of(shape, views.field)])
    else:
        per_view = frozenset(place for plan in plans for place in plan.moving_leaves)
    return replace(plans[0], views=plans, per_view=per_view)


def _place_of(shape: SampleShape, name: Any) -> int:
    """Where the field of a name is; an extension will do where one field alone has it.

    Raises:
        OptionError: The sample has no such field, or several.
    """
    names = [entry.name for entry in shape.entries]
    if name in names:
        return names.index(name)
    places = [at for at, entry in enumerate(shape.entries) if name in (*entry.extensions, *entry.asked)]
    if len(places) != 1:
        which = "several fields of the sample" if places else "a field that the sample has not"
        accepted = ", ".join(repr(names[at]) for at in places or range(len(names)))
        raise OptionError(f"transform names {which}", got=repr(name), accepted=accepted)
    return places[0]


def _plan_by_field(
    shape: SampleShape, transform: Mapping[str, Any], images: list[int], options: DecodeOptions
) -> SamplePlan:
    recipes = {place: _compile(None, options) for place in images}
    calls: dict[int, ImageRecipe] = {}
    for name, one in transform.items():
        place = _place_of(shape, name)
        if place in recipes:
            recipes[place] = _compile(one, options)
        elif one is not None:
            calls[place] = _compile_call(shape.entries[place], one, options)
    return SamplePlan(shape=shape, images=recipes, calls=calls, options=options)


def _compile(transform: object, options: DecodeOptions, form: SampleForm | None = None) -> ImageRecipe:
    return compile_transform(
        transform,
        sample=form,
        fuse=options.fuse,
        memory_format=options.memory_format,
        exif=options.exif,
        dct_scaling=options.dct_scaling,
        limits=options.limits,
    )


def _all_in_python(transform: object, options: DecodeOptions) -> ImageRecipe:
    """A recipe of samples in which there is nothing for the kernel."""
    return _in_python(transform, options, "there is no image in the sample")


def _compile_call(entry: Entry, transform: object, options: DecodeOptions) -> ImageRecipe:
    """The transform of a leaf that is no image.

    Raises:
        OptionError: It cannot be called, or is one of torchvision's for boxes or points, which would take them for an
            image where that image is not beside them.
    """
    if not callable(transform):
        _refuse_uncallable(transform)
    recipe = _in_python(transform, options, f"of a field of kind {entry.kind}")
    if entry.kind in BESIDE_IMAGE and any(family_of(op.call) is not None for op in recipe.ops):
        raise OptionError(
            f"torchvision cannot move {entry.kind} without their image",
            field=entry.name,
            got=", ".join(op.name for op in recipe.ops),
            accepted="a function of your own; or one transform for the whole sample, in the place of this dict",
        )
    return recipe


def _in_python(transform: object, options: DecodeOptions, reason: str) -> ImageRecipe:
    recipe = _compile(transform, replace(options, fuse=False))
    return replace(recipe, explain=tuple(place._replace(reason=reason) for place in recipe.explain))


def _refuse_uncallable(transform: object) -> NoReturn:
    raise OptionError(
        "a transform cannot be called",
        got=type(transform).__name__,
        accepted="None, a torchvision transform, any callable, or a dict of callables by field",
    )
