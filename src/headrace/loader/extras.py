"""What a batch may carry beside its fields: index, key, url, valid."""

from __future__ import annotations

from typing import Any

import torch

from headrace.contracts import BatchSource, Bools, Step
from headrace.errors import OptionError
from headrace.loader.options import Extra, LoaderOptions


def append_extras(
    batch: Any,
    options: LoaderOptions,
    step: Step,
    valid: Bools,
    source: BatchSource | None = None,
    *,
    one_value: bool = False,
) -> Any:
    """Appends to a list or tuple, adds `__index__` and so on to a dict, makes a list of anything else.

    Args:
        batch: The batch, or a sample that is delivered by itself, which gets single values.
        options: Say what is to be added.
        step: Its step.
        valid: Which rows are good, shape (rows,).
        source: Where keys and URLs come from, None where there are none.
        one_value: The batch is one value even where it is a list (of texts): it becomes the first of a list.

    Raises:
        OptionError: "key" or "url" of a dataset that has neither shards nor files.
    """
    if not options.extras:
        return batch
    values = {extra: _value(extra, step, valid, source) for extra in options.extras}
    if not options.is_batched:
        values = {extra: rows[0] for extra, rows in values.items()}
    if isinstance(batch, dict):
        return batch | {f"__{extra}__": value for extra, value in values.items()}
    if isinstance(batch, (list, tuple)) and not one_value:
        return [*batch, *values.values()]
    return [batch, *values.values()]


def _value(extra: Extra, step: Step, valid: Bools, source: BatchSource | None) -> Any:
    if extra == "index" and step.keys is not None:
        return list(step.keys)
    if extra == "index":
        return torch.from_numpy(step.ids.copy())
    if extra == "valid":
        return torch.from_numpy(valid.copy())
    if source is None:
        raise OptionError(
            f"extras={extra!r} needs a dataset of shards or files", accepted="'index' and 'valid' for this dataset"
        )
    names = source.names(step.ids)
    return [name.key if extra == "key" else name.shard for name in names]
