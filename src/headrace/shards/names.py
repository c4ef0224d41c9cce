"""The grouping rule: which sample and which field a member belongs to, and which names may be written.

`native/tar/group.cpp` applies the same rule to a whole shard; a property test holds the two equal.
"""

from __future__ import annotations

import string

from headrace.errors import KeyRefusedError, UnsafeFieldError, WriteError

LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

UNSAFE_EXTENSIONS = frozenset({"pkl", "pickle", "pyd"})
"""Last extensions of fields whose decoding can run code."""


def is_dunder(text: str) -> bool:
    """Whether a name is of the form `__meta__`."""
    return len(text) >= 4 and text.startswith("__") and text.endswith("__")


def split_name(name: str) -> tuple[str, str] | None:
    """Key and field of a member, or None where it is no sample's.

    The name splits at the first dot of its base name. The key is kept as it is, the field's ASCII letters are
    lower-cased. Names without a dot, base names that start with a dot and `__meta__`-style base names are no samples.
    """
    base_at = name.rfind("/") + 1
    dot = name.find(".", base_at)
    if dot <= base_at or is_dunder(name[base_at:]):
        return None
    return name[:dot], name[dot + 1 :].translate(LOWER)


def check_key(key: object) -> str:
    """The key, if a shard gives it back as it is; otherwise raises `KeyRefusedError`."""
    if not isinstance(key, str):
        raise KeyRefusedError("a sample has no usable key", got=repr(key), accepted="a non-empty str under '__key__'")
    reason = fault_of_key(key)
    if reason is not None:
        raise KeyRefusedError(
            f"a key cannot be written: {reason}",
            accepted="relative names such as 'train/000017', without a dot in their last part",
            remedy="Give the sample another key, for example with '_' in place of '.'",
            key=repr(key),
        )
    return key


def fault_of_key(key: str) -> str | None:
    """Why a key would read back differently, or None."""
    base = key.rpartition("/")[2]
    parts = key.split("/")
    reasons = {
        "it is empty, or ends with a slash": not base,
        "it is absolute": key.startswith("/"),
        "it starts with a dot": key.startswith("."),
        "it holds '..'": ".." in parts,
        "its last part holds a dot, where the name of the field begins": "." in base,
        "it holds a NUL": "\0" in key,
        "it is not UTF-8": not is_utf8(key),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def is_utf8(text: str) -> bool:
    """Whether a string can be written as UTF-8 (no lone surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_field(field: object, key: str, allow_pickle: tuple[str, ...] = ()) -> str:
    """The field, if a shard gives it back under this key; otherwise raises `WriteError` or `UnsafeFieldError`."""
    accepted = "a lower-case extension such as 'jpg' or 'seg.png'"
    if not isinstance(field, str) or not field or "/" in field or "\0" in field or not is_utf8(field):
        raise WriteError("a field has no usable name", got=repr(field), accepted=accepted, key=key)
    if split_name(f"{key}.{field}") != (key, field) or is_dunder(field):
        raise WriteError(
            "a field would read back under another name",
            accepted=accepted,
            remedy=f"Name it {field.translate(LOWER).strip('_')!r}, for example",
            key=key,
            field=field,
        )
    extension = field.rpartition(".")[2]
    if extension in UNSAFE_EXTENSIONS and extension not in allow_pickle:
        raise UnsafeFieldError(
            "a field of this kind can run code when it is read",
            remedy=f"Write it with allow_pickle=({extension!r},) if whoever reads it may trust you, or use json or npy",
            key=key,
            field=field,
        )
    return field
