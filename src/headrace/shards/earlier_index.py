"""What an `index.json` that is there already says of shards that a writer leaves alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headrace.errors import IndexFormatError, WriteError
from headrace.shards.dataset_json import EXTRA, FIELDS, MOST_JSON_BYTES, parse_document
from headrace.shards.plain_file import read_plain


def joined_with_earlier(document: Mapping[str, Any], path: str) -> dict[str, Any]:
    """A document for `path` that also lists the other shards of the one there, as far as they are still there.

    Raises:
        WriteError: Both know a fact, such as the class names, differently.
    """
    earlier = earlier_document(path)
    new = {entry["url"] for entry in document["shardlist"]}
    folder = os.path.dirname(path)
    kept = [
        entry
        for entry in earlier.get("shardlist", ())
        if entry["url"] not in new and os.path.isfile(os.path.join(folder, entry["url"]))
    ]
    if not kept:
        return dict(document)
    facts, given = earlier.get(EXTRA) or {}, document[EXTRA]
    for name in facts.keys() & given.keys():
        if facts[name] != given[name]:
            raise WriteError(
                f"the dataset index beside the shards has other {name}",
                got=repr(given[name])[:80],
                accepted=repr(facts[name])[:80],
                remedy="Write to another folder, or give the same; the shards are written, the index is as it was",
                path=path,
            )
    fields = dict.fromkeys([*(earlier.get(FIELDS) or ()), *document[FIELDS]])
    return {**document, "shardlist": [*kept, *document["shardlist"]], FIELDS: list(fields), EXTRA: {**facts, **given}}


def earlier_document(path: str) -> dict[str, Any]:
    """The index that is there; empty where there is none that can be read, which is replaced."""
    try:
        return parse_document(read_plain(path, MOST_JSON_BYTES), path)
    except (OSError, IndexFormatError):
        return {}
