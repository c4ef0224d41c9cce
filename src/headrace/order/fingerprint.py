"""A short name for the identity of a dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from headrace.errors import OrderError

DIGEST_BYTES = 16


def fingerprint(identity: Mapping[str, Any]) -> str:
    """A hash of JSON-serialisable facts, as 32 hexadecimal digits; the order of mapping keys does not matter.

    Raises:
        OrderError: The facts are not JSON-serialisable.
    """
    try:
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OrderError(
            "The identity of a dataset cannot be written as JSON",
            got=str(error),
            accepted="mappings with string keys, lists, strings, finite numbers, booleans and None",
        ) from error
    return hashlib.blake2b(text.encode("ascii"), digest_size=DIGEST_BYTES).hexdigest()
