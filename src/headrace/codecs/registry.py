"""Which codec an extension has. The table is fixed: what a field becomes never depends on what else was imported."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace.codecs.arrays import decode_array, decode_arrays, encode_array, encode_arrays
from headrace.codecs.codec import Codec, Kind
from headrace.codecs.images import FORMAT_OF_EXTENSION, decode_image, encode_image
from headrace.codecs.integers import decode_integer, encode_integer
from headrace.codecs.json_values import decode_json, decode_json_lines, encode_json, encode_json_lines
from headrace.codecs.pickles import decode_pickle, encode_pickle
from headrace.codecs.tensors import decode_any_objects, decode_tensors, encode_tensors
from headrace.codecs.text import decode_text, encode_text
from headrace.errors import UnsafeFieldError, WriteError


def decode_as_image(_extension: str, data: bytes | memoryview) -> Any:
    """The bytes as an RGB image, whatever the extension says."""
    return decode_image(data)


def decode_bytes(_extension: str, data: bytes | memoryview) -> bytes:
    """The bytes as they are."""
    return bytes(data)


def encode_bytes(extension: str, value: Any) -> bytes:
    """Refuses: only bytes can be written under an extension without a codec, and those never get here."""
    raise WriteError(
        f"nothing is known of the extension `{extension}`, so only bytes can be written under it",
        got=type(value).__name__,
        accepted="bytes",
        remedy="Encode the value first, or use an extension that has a codec, such as json, npy or pt.",
        field=extension,
    )


CODECS = (
    Codec(kind="image", extensions=frozenset(FORMAT_OF_EXTENSION), decode=decode_as_image, encode=encode_image),
    Codec(
        kind="integer",
        extensions=frozenset({"class", "cls", "cls2", "count", "id", "index", "inx"}),
        decode=decode_integer,
        encode=encode_integer,
    ),
    Codec(kind="text", extensions=frozenset({"text", "transcript", "txt"}), decode=decode_text, encode=encode_text),
    Codec(kind="json", extensions=frozenset({"json", "jsn"}), decode=decode_json, encode=encode_json),
    Codec(kind="jsonl", extensions=frozenset({"jsonl"}), decode=decode_json_lines, encode=encode_json_lines),
    Codec(kind="array", extensions=frozenset({"npy"}), decode=decode_array, encode=encode_array),
    Codec(kind="arrays", extensions=frozenset({"npz"}), decode=decode_arrays, encode=encode_arrays),
    Codec(
        kind="tensor",
        extensions=frozenset({"pt", "pth"}),
        decode=decode_tensors,
        encode=encode_tensors,
        decode_trusted=decode_any_objects,
    ),
    Codec(
        kind="pickle",
        extensions=frozenset({"pickle", "pkl", "pyd"}),
        decode=None,
        encode=encode_pickle,
        decode_trusted=decode_pickle,
    ),
)
RAW = Codec(kind="bytes", extensions=frozenset(), decode=decode_bytes, encode=encode_bytes)
BY_EXTENSION = {extension: codec for codec in CODECS for extension in codec.extensions}


def kind_of(extension: str) -> Kind:
    """What a field of this extension holds; `bytes` where nothing is known of it.

    The part after the last dot decides: `seg.png` is an image. Case does not matter.
    """
    return codec_of(extension).kind


def decode(extension: str, data: bytes | memoryview, *, allow_pickle: Collection[str] = ()) -> Any:
    """Turns the bytes of a field into its value.

    Args:
        extension: The field's extension without the first dot (`jpg`, `seg.png`).
        data: The bytes of the member.
        allow_pickle: Extensions whose decoding may run code. It opens `pkl`, `pyd` and `pickle`, and lets `pt` and
            `pth` hold any object.

    Returns:
        image: a PIL image of mode RGB; integer: int; text: str; json: any JSON value; jsonl: a list of them;
        array: numpy array; arrays: dict of arrays; tensor: what `torch.save` wrote; anything else: bytes.

    Raises:
        DecodeError: The bytes are not what the extension says.
        UnsafeFieldError: A pickle whose extension is not in `allow_pickle`.
    """
    codec = codec_of(extension)
    trusted = codec.decode_trusted if is_allowed(extension, allow_pickle) else None
    decoder = trusted or codec.decode
    if decoder is None:
        raise unsafe(extension)
    return decoder(suffix_of(extension), data)


def encode(extension: str, value: Any, *, allow_pickle: Collection[str] = ()) -> bytes:
    """Turns a value into the bytes that `decode` reads back. Bytes are written as they are under any extension.

    Raises:
        WriteError: The value does not fit the extension.
        UnsafeFieldError: A pickle whose extension is not in `allow_pickle`: nobody could read it back.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    codec = codec_of(extension)
    if codec.decode is None and not is_allowed(extension, allow_pickle):
        raise unsafe(extension)
    return codec.encode(suffix_of(extension), value)


def extensions_of_kinds(kinds: Collection[str]) -> list[str]:
    """The extensions whose codecs hold one of these kinds, sorted."""
    return sorted(extension for extension, codec in BY_EXTENSION.items() if codec.kind in kinds)


def codec_of(extension: str) -> Codec:
    """The codec of the part after the last dot."""
    return BY_EXTENSION.get(suffix_of(extension), RAW)


def suffix_of(extension: str) -> str:
    """`Seg.PNG` -> `png`."""
    return extension.rpartition(".")[2].lower()


def is_allowed(extension: str, allow_pickle: Collection[str]) -> bool:
    """Whether the user named this extension, whole or its last part."""
    return extension in allow_pickle or suffix_of(extension) in allow_pickle


def unsafe(extension: str) -> UnsafeFieldError:
    """The error of a pickle that is not allowed."""
    return UnsafeFieldError(
        "a pickle can run any code when it is loaded, so it is refused unless its extension is allowed",
        got=f"a field `{extension}`",
        accepted="json, npy, npz, pt (tensors only) and txt need no permission",
        remedy=f"If you trust where the data comes from: allow_pickle=({suffix_of(extension)!r},).",
        field=extension,
    )
