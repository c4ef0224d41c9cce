"""Iterable datasets for tests, and the order in which their batches are to come."""

from __future__ import annotations

from itertools import count, islice

from torch.utils.data import IterableDataset, get_worker_info


class SelfSplitting(IterableDataset):
    """Splits itself by the worker, unevenly: worker k gives `lengths[k]` samples; also tells what a worker knows."""

    def __init__(self, lengths):
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        number = info.id if info is not None else 0
        for sample in range(self.lengths[number]):
            yield 100 * number + sample


class Naive(IterableDataset):
    """Gives everything to everybody."""

    def __init__(self, num):
        self.num = num

    def __len__(self):
        return self.num

    def __iter__(self):
        return iter(range(self.num))


class Failing(IterableDataset):
    """Raises in the midst of the stream of one worker."""

    def __init__(self, worker, at):
        self.worker = worker
        self.at = at

    def __iter__(self):
        info = get_worker_info()
        number = info.id if info is not None else 0
        for sample in range(9):
            if number == self.worker and sample == self.at:
                raise KeyError(f"nothing at {sample}")
            yield 100 * number + sample


class Unsized:
    """Follows `SplittableStream`, and nothing else."""

    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        return iter(self.samples)

    def shard(self, index, count):
        return type(self)(self.samples[index::count])


class Sized(Unsized):
    """Has a length besides, as have its parts."""

    def __len__(self):
        return len(self.samples)


class Resumable(Unsized):
    """Its parts can be asked where they stand, and count what they had to read."""

    def __init__(self, samples):
        super().__init__(samples)
        self.position = 0
        self.num_read = 0

    def __iter__(self):
        while self.position < len(self.samples):
            self.position += 1
            self.num_read += 1
            yield self.samples[self.position - 1]
        self.position = 0

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state_dict):
        self.position = state_dict["position"]


class ResumableIterators(Unsized):
    """Its iterators can be asked where they stand."""

    def __iter__(self):
        return Position(self.samples)


class Position:
    """An iterator that knows where it stands."""

    def __init__(self, samples):
        self.samples = samples
        self.position = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.position == len(self.samples):
            raise StopIteration
        self.position += 1
        return self.samples[self.position - 1]

    def state_dict(self):
        return {"position": self.position}

    def load_state_dict(self, state_dict):
        self.position = state_dict["position"]


def parts_of(samples, num_parts):
    """What the streams of `Unsized` and its kin read."""
    return [samples[index::num_parts] for index in range(num_parts)]


def batches_of(part, batch_size, drop_last):
    """The batches of one stream."""
    batches = [part[first : first + batch_size] for first in range(0, len(part), batch_size)]
    return [batch for batch in batches if len(batch) == batch_size or not drop_last]


def in_turns(parts, batch_size, *, drop_last=False):
    """The batches of several streams, as the loader is to deliver them: in turns, those that have ended left out."""
    batches = [batches_of(part, batch_size, drop_last) for part in parts]
    rounds = ((stream[number] for stream in batches if number < len(stream)) for number in count())
    return [batch for one in islice(rounds, max(map(len, batches), default=0)) for batch in one]
