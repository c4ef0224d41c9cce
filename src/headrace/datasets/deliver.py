"""The last part of a batch: rows with faults are settled, leaves are collated and put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from headrace.datasets.collate_leaf import collate_leaf
from headrace.datasets.collate_rules import STACK, Rule
from headrace.datasets.context import BatchContext, ProgramResult
from headrace.datasets.culprits import blame
from headrace.datasets.faults import RowFaults
from headrace.datasets.fields import SampleShape
from headrace.datasets.good_rows import repeat_good_rows
from headrace.datasets.structure import part_names
from headrace.datasets.values import python_values
from headrace.datasets.view_columns import ViewColumns
from headrace.recipes.tensors import delivered


def deliver_leaves(
    shape: SampleShape, leaves: Sequence[Any], context: BatchContext, faults: RowFaults
) -> ProgramResult:
    """A batch whose leaves are collated one by one; leaves that are one tensor are collated already."""
    valid = faults.settle(context)
    started = perf_counter()
    if faults.errors:
        bad, good = faults.bad_rows(), faults.good_rows()
        leaves = [
            repeat_good_rows(leaf if isinstance(leaf, (torch.Tensor, ViewColumns)) else list(leaf), bad, good)
            for leaf in leaves
        ]
    if context.policy.wants_samples:
        plain = [python_values(leaf) for leaf in leaves]
        samples = [shape.build([leaf[row] for leaf in plain]) for row in range(faults.num_rows)]
        with faults.naming(context):
            batch = context.policy.put_together(samples, context.allocate)
        one_value = context.policy.gives_one_value(samples[0])
    else:
        done = []
        for entry, leaf in zip(shape.entries, leaves, strict=True):
            rule = context.policy.rule_of(entry.name)
            try:
                with faults.naming(context):
                    done.append(collate_leaf(leaf, rule, entry.name, context.allocate))
            except Exception:
                if not callable(rule) or isinstance(leaf, ViewColumns):
                    raise
                if not blame(rows_of(leaf), one_by_one(rule), faults, entry.name):
                    raise
                return deliver_leaves(shape, leaves, context, faults)
        # As default_collate has it: a batch of tuples is a list.
        batch = done if shape.shape == "tuple" else shape.build(done)
        one_value = shape.shape == "bare" and is_one_value(leaves[0], context.policy.rule_of(shape.entries[0].name))
    context.recorder.add("collate", perf_counter() - started, items=faults.num_rows)
    return ProgramResult(batch=batch, valid=valid, one_value=one_value)


def deliver_samples(samples: list[Any], context: BatchContext, faults: RowFaults) -> ProgramResult:
    """A batch of samples whose shape only the user's transform knows."""
    valid = faults.settle(context)
    bad, good = faults.bad_rows(), faults.good_rows()
    if bad and not good and samples[0] is None:
        # There is no row to repeat, and the transform takes no sample that could stand in for one.
        raise faults.errors[bad[0]]
    started = perf_counter()
    rows = repeat_good_rows([delivered_sample(sample) for sample in samples], bad, good)
    try:
        with faults.naming(context):
            batch = context.policy.put_together(rows, context.allocate)
    except Exception:
        fields = context.policy.fields_of_functions

        def alone(row: Any) -> object:
            return context.policy.put_together([row], np.empty)

        if not fields or not blame(rows, alone, faults, ", ".join(map(str, fields))):
            raise
        return deliver_samples(samples, context, faults)
    context.recorder.add("collate", perf_counter() - started, items=faults.num_rows)
    return ProgramResult(batch=batch, valid=valid, one_value=context.policy.gives_one_value(rows[0]))


def rows_of(leaf: Any) -> Sequence[Any]:
    """The values of a leaf, one a row."""
    return list(leaf) if isinstance(leaf, torch.Tensor) else python_values(leaf)


def one_by_one(rule: Callable[[list[Any]], Any]) -> Callable[[Any], object]:
    """The function of a rule, called with one value."""
    return lambda value: rule([value])


def is_one_value(leaf: Any, rule: Rule) -> bool:
    """Whether a leaf that is a sample alone becomes one value: its rows have no parts, or a rule makes one of them."""
    return rule != STACK or all(part_names(value) is None for value in leaf[:1])


def delivered_sample(sample: Any) -> Any:
    """The sample with images that are still PIL images delivered as ToImage would make them."""
    if isinstance(sample, Mapping):
        return {name: delivered_sample(value) for name, value in sample.items()}
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return type(sample)(*map(delivered_sample, sample))
    if isinstance(sample, (tuple, list)):
        return type(sample)(map(delivered_sample, sample))
    return delivered(sample)
