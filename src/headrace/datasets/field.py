"""`headrace.field(...)`: what one leaf of a sample holds, and how it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

from headrace import codecs
from headrace._base.brief import brief
from headrace.errors import OptionError

FieldKind: TypeAlias = Literal["image", "mask", "boxes", "keypoints", "text", "label", "value"]
"""What a leaf is to a transform; "value" is anything else, delivered as its codec reads it."""

BoxFormat: TypeAlias = Literal["XYXY", "XYWH", "CXCYWH"]
"""What the four numbers of a box say, as torchvision calls it."""

Classes: TypeAlias = tuple[str, ...] | Mapping[str | int, int] | Literal["auto"] | None
"""Names in the order of their numbers; numbers by name (or by other numbers); "auto": those of the dataset index."""

MASK_WORDS = frozenset({"mask", "masks", "seg", "segm", "segmentation"})
"""An image whose extension has one of these before its last part (`seg.png`, `left.mask.png`) is a mask."""

LOSSY = frozenset({"avif", "jfif", "jpe", "jpeg", "jpg", "jp2", "pbm", "pgm", "pnm", "ppm", "tga", "webp"})
"""Formats that may change values, or scale them (PPM), or hold colours: no masks are kept in them."""

STRUCTURED = frozenset({"array", "arrays", "json", "jsonl", "pickle", "tensor"})
"""Codecs whose values have parts that a path can name."""

ARRAYS = frozenset({"array", "arrays", "pickle", "tensor"})
"""Those of them that hold arrays, as masks are."""

CODECS: Mapping[FieldKind, frozenset[str]] = {
    "image": frozenset({"image", "bytes"}),
    "mask": frozenset({"image", "bytes", *ARRAYS}),
    "boxes": STRUCTURED,
    "keypoints": STRUCTURED,
    "text": frozenset({"integer", "text", "bytes", *STRUCTURED} - {"array", "arrays"}),
    "label": frozenset({"integer", "text", "bytes", *STRUCTURED}),
}
"""Which codecs can hold what. Bytes without a codec are an image by their first bytes, or text, where that is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One leaf of a sample. Made by `headrace.field`, which checks it."""

    extensions: tuple[str, ...]
    """Extensions that are accepted, in order of preference, lower-cased and without the leading dot."""
    kind: FieldKind
    """What the leaf is to a transform."""
    get: str | None = None
    """Path of the part that is wanted inside of what the codec reads; None: all of it."""
    format: BoxFormat | None = None
    """What the numbers of boxes say; None where the leaf holds none."""
    classes: Classes = None
    """Which class names have which numbers; None: labels are numbers already."""

    @property
    def asked(self) -> str:
        """The extensions, and the path where there is one, as they were asked for."""
        names = ";".join(self.extensions)
        return names if self.get is None else f"{names}:{self.get}"


def field(
    extensions: str,
    *,
    kind: FieldKind | None = None,
    get: str | None = None,
    format: BoxFormat | None = None,  # noqa: A002 - torchvision's word for it
    classes: Sequence[str] | Mapping[str, int] | Mapping[int, int] | Literal["auto"] | None = None,
) -> Field:
    """Says what one leaf of a sample is, where its extension does not say all of it.

    Args:
        extensions: An extension (`jpg`), or alternatives by `;` (`jpg;png`).
        kind: What it is to a transform. None: an image by its extension ("mask" where a word such as `seg` or `mask`
            stands before the last part, as in `seg.png`), "label" of `cls` and its like or where `classes` is given,
            "boxes" where `format` is given, "text" of `txt`, "value" otherwise.
        get: Path of a part of a field with structure: `"label.id"`, `"objects[].bbox"`, `"captions[0]"`.
        format: What the numbers of boxes say: "XYXY" (also if None), "XYWH" or "CXCYWH", in pixels.
        classes: For labels that are names: a list of names in the order of their numbers, a dict from names (or from
            other numbers) to numbers, or "auto" for the class names of the dataset index.

    Returns:
        An entry for `fields=`.

    Raises:
        OptionError: An argument that is not accepted, or two that do not go together.
    """
    names = parse_extensions(extensions)
    known = _kind(names, kind, get, format, classes)
    check_codecs(names, known, get, may_be_columns=True)
    if format is not None and (known != "boxes" or format not in get_args(BoxFormat)):
        raise OptionError(
            f"a field of kind {known!r} has no such format", got=repr(format), accepted="XYXY, XYWH, CXCYWH for boxes"
        )
    if classes is not None and known != "label":
        raise OptionError(f"a field of kind {known!r} has no classes", got=brief(classes), accepted="kind='label'")
    if known == "mask" and (lossy := LOSSY & {name.rpartition(".")[2] for name in names}):
        raise OptionError(
            "a mask is kept in a format that may change its values",
            got=", ".join(sorted(lossy)),
            accepted=extensions_of("mask"),
            remedy="Write it as PNG; or read it with kind='image' and threshold it in a transform",
        )
    if get is not None:
        codecs.parse_path(get)
    return Field(
        extensions=names,
        kind=known,
        get=get,
        format=(format or "XYXY") if known == "boxes" else None,
        classes=checked_classes(classes),
    )


def parse_extensions(extensions: object) -> tuple[str, ...]:
    """The extensions of an entry, lower-cased and without leading dots.

    Raises:
        OptionError: It is no string, or one of them is empty.
    """
    if not isinstance(extensions, str):
        raise OptionError(
            "a field is named by its extension", got=repr(extensions), accepted="a string such as 'jpg' or 'jpg;png'"
        )
    names = tuple(part.strip().lstrip(".").lower() for part in extensions.split(";"))
    if not all(names):
        raise OptionError("a field has an empty extension", got=repr(extensions), accepted="'jpg' or 'jpg;png'")
    return names


def kind_of_extensions(names: Iterable[str]) -> FieldKind:
    """What leaves of these extensions are, where nothing else is said."""
    kinds = {kind_of_extension(name) for name in names}
    return kinds.pop() if len(kinds) == 1 else "value"


def kind_of_extension(name: str) -> FieldKind:
    """What a field of one extension is."""
    *words, last = name.split(".")
    held = codecs.kind_of(last)
    if held == "image":
        return "mask" if MASK_WORDS.intersection(words) and last not in LOSSY else "image"
    return "label" if held == "integer" else "text" if held == "text" else "value"


def checked_classes(classes: Any) -> Classes:
    """The classes as values that nobody changes afterwards.

    Raises:
        OptionError: They are none of what is accepted, or a name comes twice.
    """
    if classes is None or (isinstance(classes, str) and classes == "auto"):
        return classes  # type: ignore[return-value]
    if isinstance(classes, Mapping) and _are_numbers_by_name(classes):
        return {name if isinstance(name, str) else int(name): int(number) for name, number in classes.items()}
    if isinstance(classes, Sequence) and not isinstance(classes, str) and _are_different_names(classes):
        return tuple(classes)
    raise OptionError(
        "classes are not accepted",
        got=brief(classes),
        accepted="a list of different names, a dict of numbers of at most 64 bits by name, or 'auto'",
    )


def _are_numbers_by_name(classes: Mapping[Any, Any]) -> bool:
    named = all(_is_name(name) or _is_number(name) for name in classes)
    return (
        named and bool(classes) and all(_is_number(value) and -(2**63) <= value < 2**63 for value in classes.values())
    )


def _are_different_names(classes: Sequence[Any]) -> bool:
    return bool(classes) and all(map(_is_name, classes)) and len(set(classes)) == len(classes)


def _is_name(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)  # numpy's too


def _kind(
    names: tuple[str, ...], kind: FieldKind | None, get: str | None, format_: object, classes: object
) -> FieldKind:
    if kind is not None:
        if kind not in get_args(FieldKind):
            raise OptionError("a field has no such kind", got=repr(kind), accepted=", ".join(get_args(FieldKind)))
        return kind
    if classes is not None:
        return "label"
    if format_ is not None:
        return "boxes"
    return "value" if get is not None else kind_of_extensions(names)


def check_codecs(names: tuple[str, ...], kind: FieldKind, get: str | None, *, may_be_columns: bool = False) -> None:
    """Refuses what the codecs of some extensions never hold.

    Args:
        names: Extensions.
        kind: What the field is to be.
        get: Path of the part that is wanted.
        may_be_columns: Whether a name without a codec may be a column of a list, which can hold anything.

    Raises:
        OptionError: One of them holds no such thing, or nothing with parts.
    """
    for name in names:
        held = codecs.kind_of(name)
        if held == "bytes" and may_be_columns:
            continue
        if get is not None and held not in STRUCTURED:
            raise OptionError(
                f"get= has no parts to choose from in a field `{name}`", got=repr(get), accepted="json, jsonl, npz, pt"
            )
        if held not in CODECS.get(kind, {held}):
            raise OptionError(
                f"a field `{name}` cannot be of kind {kind!r}",
                accepted=f"kind 'value', or {of_kinds(held)}; kind {kind!r} is read from {extensions_of(kind)}",
            )


def extensions_of(kind: FieldKind) -> str:
    """The extensions that can hold a kind."""
    names = codecs.extensions_of_kinds(CODECS.get(kind, frozenset()))
    return ", ".join(name for name in names if kind != "mask" or name not in LOSSY)


def of_kinds(held: str) -> str:
    """The kinds that a codec can hold."""
    return ", ".join(kind for kind, held_by in CODECS.items() if held in held_by) or "another extension"
