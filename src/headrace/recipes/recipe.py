"""An image recipe: a transform as data, cut into what the kernel does and what stays in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from headrace.contracts import Exif, ImageLimits
from headrace.errors import OptionError
from headrace.recipes.flatten import flatten, takes_whole_sample
from headrace.recipes.global_draws import global_draw
from headrace.recipes.joint.sample_form import SampleForm
from headrace.recipes.op import Op
from headrace.recipes.pointwise import Form
from headrace.recipes.span import Span, form_before, grow

Fuse: TypeAlias = bool | Literal["exact"]
MemoryFormat: TypeAlias = Literal["contiguous", "channels_last"]
Place: TypeAlias = Literal["fused", "python"]


class OpPlace(NamedTuple):
    """Where one op runs, and why."""

    op: str
    place: Place
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageRecipe:
    """What happens to an image field: `prefix` fused, `middle` in Python, `suffix` fused.

    Everything fused lies in `prefix` where the kernel knows every op in one pass. `prefix` also decodes.
    """

    prefix: Span = field(default_factory=Span)
    middle: tuple[Op, ...] = ()
    suffix: Span = field(default_factory=Span)
    whole_sample: bool = False
    """Whether the middle is called with the whole sample, or with the image alone."""
    explain: tuple[OpPlace, ...] = ()
    """Every op with its place, in order."""
    fuse: Fuse = True
    memory_format: MemoryFormat = "contiguous"
    exif: Exif = "ignore"
    dct_scaling: bool = False
    limits: ImageLimits = field(default_factory=ImageLimits)

    @property
    def ops(self) -> tuple[Op, ...]:
        """All ops in order."""
        return self.prefix.ops + self.middle + self.suffix.ops

    @property
    def global_draw(self) -> str | None:
        """The name of an op in Python that draws from torch's global generator, if there is one."""
        return global_draw(self.middle)

    @property
    def is_fused(self) -> bool:
        """Whether the kernel does everything, decoding included, in one pass."""
        return self.fuse is not False and not self.middle and not self.suffix.ops


def compile_transform(
    transform: Any,
    *,
    fuse: Fuse = True,
    memory_format: MemoryFormat = "contiguous",
    exif: Exif = "ignore",
    dct_scaling: bool = False,
    limits: ImageLimits | None = None,
    sample: SampleForm | None = None,
) -> ImageRecipe:
    """Reads a transform and decides what is fused.

    Args:
        transform: None, a torchvision v1 or v2 Compose or transform, a `torch.nn.Sequential`, or any callable.
        fuse: True fuses the longest head and tail that the kernel knows; `exact` leaves resampling after ToImage,
            which may differ from torchvision's tensors by one level, to torchvision; False runs torchvision alone,
            with the same random draws.
        memory_format: Layout of the batches; shapes are (N, C, H, W) either way.
        exif: Whether the EXIF orientation turns the pixels first.
        dct_scaling: Decodes a JPEG at 1/2, 1/4 or 1/8 where its crop is at least that much larger than the target:
            faster, with other pixels.
        limits: What images may ask for; the defaults of `ImageLimits` if None.
        sample: The sample that a transform of whole samples gets; None: only the image is known of it.

    Raises:
        OptionError: The transform cannot be called, or an option has a value that is not accepted.
    """
    check_options(fuse, memory_format, exif)
    ops = flatten(transform)
    prefix, middle, suffix, places = split(ops, fuse, sample if takes_whole_sample(transform) else None)
    return ImageRecipe(
        prefix=prefix,
        middle=middle,
        suffix=suffix,
        whole_sample=takes_whole_sample(transform),
        explain=places,
        fuse=fuse,
        memory_format=memory_format,
        exif=exif,
        dct_scaling=dct_scaling,
        limits=limits or ImageLimits(),
    )


def check_options(fuse: Fuse, memory_format: MemoryFormat, exif: Exif) -> None:
    """Refuses values that a type checker would refuse."""
    for name, value, accepted in (
        ("fuse", fuse, (True, "exact", False)),
        ("memory_format", memory_format, ("contiguous", "channels_last")),
        ("exif", exif, ("ignore", "apply")),
    ):
        if value not in accepted:
            raise OptionError(
                f"`{name}` is not accepted", got=repr(value), accepted=" or ".join(repr(choice) for choice in accepted)
            )


def split(
    ops: Sequence[Op], fuse: Fuse, form: SampleForm | None
) -> tuple[Span, tuple[Op, ...], Span, tuple[OpPlace, ...]]:
    """Prefix, middle and suffix, and the place of every op."""
    if fuse is False:
        places = tuple(OpPlace(op.name, "python", "fuse=False") for op in ops)
        return Span(), tuple(ops), Span(), places
    exact = fuse == "exact"
    prefix, refusal = grow(ops, "pil", exact=exact, form=form)
    num_prefix = len(prefix.ops)
    num_middle, suffix = longest_suffix(ops, num_prefix, exact=exact, sample=form)
    middle = tuple(ops[num_prefix : num_prefix + num_middle])
    places = (
        *(OpPlace(op.name, "fused", "with decoding") for op in prefix.ops),
        *middle_places(middle, ops, num_prefix, refusal, exact=exact, sample=form),
        *(OpPlace(op.name, "fused", "after the Python part") for op in suffix.ops),
    )
    return prefix, middle, suffix, places


def longest_suffix(ops: Sequence[Op], num_prefix: int, *, exact: bool, sample: SampleForm | None) -> tuple[int, Span]:
    """How many ops stay in Python after the prefix, and the span of all that follow them."""
    for start in range(num_prefix, len(ops)):
        form = None if hides_members(ops[:start], sample) else form_before(ops[:start])
        span = Span() if form is None else grow(ops[start:], form, exact=exact, form=sample)[0]
        if len(span.ops) == len(ops) - start:
            return start - num_prefix, span
    return len(ops) - num_prefix, Span()


def hides_members(ops: Sequence[Op], sample: SampleForm | None) -> bool:
    """Whether members are pure tensors after these ops, of which torchvision takes the first for an image."""
    names = {type(op.call).__name__ for op in ops}
    return sample is not None and sample.is_joint and "ToPureTensor" in names


def middle_places(
    middle: Sequence[Op],
    ops: Sequence[Op],
    num_prefix: int,
    refusal: str | None,
    *,
    exact: bool,
    sample: SampleForm | None,
) -> tuple[OpPlace, ...]:
    """The reason of each op that stays in Python: its own, or that its neighbours do."""
    reasons = [
        own_reason(op, form_before(ops[: num_prefix + index]), exact=exact, sample=sample)
        for index, op in enumerate(middle)
    ]
    if reasons and refusal:
        reasons[0] = refusal
    return tuple(OpPlace(op.name, "python", reason) for op, reason in zip(middle, reasons, strict=True))


def own_reason(op: Op, form: Form | None, *, exact: bool, sample: SampleForm | None) -> str:
    """Why an op is not fused, looked at by itself."""
    if form is None:
        return "works on values that are no longer the 8-bit pixels"
    _, refusal = grow([op], form, exact=exact, form=sample)
    return refusal or "known, but stands between ops that run in Python"
