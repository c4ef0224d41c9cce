"""Python pickles: refused unless the user allows the extension, because loading one can run any code."""

from __future__ import annotations

import pickle
from typing import Any

from headrace._base.units import count
from headrace.errors import DecodeError, WriteError


def decode_pickle(extension: str, data: bytes | memoryview) -> Any:
    """Loads a pickle. Only reached where the extension is allowed.

    Raises:
        DecodeError: The bytes are no pickle, or name something that cannot be imported.
    """
    try:
        return pickle.loads(data)  # noqa: S301 - the user named this extension in allow_pickle
    except Exception as error:
        raise DecodeError(
            f"a pickle cannot be loaded: {error}", got=count(len(data), "byte"), field=extension
        ) from error


def encode_pickle(extension: str, value: Any) -> bytes:
    """Writes a pickle of protocol 4, which every supported Python reads.

    Raises:
        WriteError: The value cannot be pickled.
    """
    try:
        return pickle.dumps(value, protocol=4)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise WriteError(
            f"a value that cannot be pickled: {error}", got=type(value).__name__, field=extension
        ) from error
