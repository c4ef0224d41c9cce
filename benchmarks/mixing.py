"""How well an order mixes a dataset, in four measures. Pure functions of the sample ids of an epoch.

Source of the last one: Kish 1965, "Survey Sampling" (the effective size of a sample that is drawn in clusters).
"""

from __future__ import annotations

import numpy as np

from headrace.contracts import I64


def places_of(ids: I64) -> I64:
    """Position of each sample in an epoch that delivers every sample once, shape of `ids`: the inverse permutation."""
    places = np.empty_like(ids)
    places[ids] = np.arange(len(ids), dtype=np.int64)
    return places


def apart(ids: I64) -> float:
    """How far neighbours of the dataset come apart in an epoch: mean distance, as a share of the epoch.

    A third for a full shuffle; 1 / samples without any.
    """
    return float(np.abs(np.diff(places_of(ids))).mean() / len(ids))


def moved(ids: I64, next_ids: I64) -> float:
    """How far a sample moves from one epoch to the next: mean distance, as a share of the epoch. A third at best."""
    return float(np.abs(places_of(ids) - places_of(next_ids)).mean() / len(ids))


def met_again(ids: I64, next_ids: I64, batch_size: int) -> float:
    """With how many of its companions in a batch a sample shares a batch again in the next epoch, on average."""
    num_batches = -(-len(ids) // batch_size)
    pairs = places_of(ids) // batch_size * num_batches + places_of(next_ids) // batch_size
    _, together = np.unique(pairs, return_counts=True)
    return float((together * (together - 1)).sum() / len(ids))


def distinct_in_batch(labels: I64, batch_size: int) -> float:
    """How many different labels (shards, classes) a full batch has, on average.

    Args:
        labels: Label of each sample in the sequence of the epoch, shape (samples,), from 0.
        batch_size: Samples of a batch.
    """
    batches = np.sort(in_batches(labels, batch_size), axis=1)
    return float(1 + (np.diff(batches, axis=1) != 0).sum(axis=1).mean())


def effective_batch(labels: I64, batch_size: int) -> float:
    """How many samples drawn at random tell as much about the mixture of labels as a full batch does.

    With p the share of a label in the dataset and q its share in a batch: the sum over labels of p(1-p), by the mean
    over batches of the sum of (q-p)^2. A full shuffle comes to `batch_size`; a batch of one label only, to about 1.

    Args:
        labels: Label of each sample in the sequence of the epoch, shape (samples,), from 0.
        batch_size: Samples of a batch.
    """
    num_labels = int(labels.max()) + 1
    share = np.bincount(labels, minlength=num_labels) / len(labels)
    batches = in_batches(labels, batch_size)
    cells = np.arange(len(batches))[:, None] * num_labels + batches
    counts = np.bincount(cells.ravel(), minlength=len(batches) * num_labels).reshape(len(batches), num_labels)
    off = ((counts / batch_size - share) ** 2).sum(axis=1).mean()
    return float((share * (1 - share)).sum() / off)


def in_batches(labels: I64, batch_size: int) -> I64:
    """The full batches, shape (batches, batch_size)."""
    return labels[: len(labels) // batch_size * batch_size].reshape(-1, batch_size)
