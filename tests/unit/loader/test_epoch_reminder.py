"""Samplers that are to be told the epoch."""

from __future__ import annotations

import warnings

import pytest
from torch.utils.data import BatchSampler, DistributedSampler

from headrace.loader.epoch_reminder import EpochReminder
from headrace.loader.place import Place
from headrace.loader.torch_arguments import TorchArguments


def distributed(**options):
    return DistributedSampler(range(8), num_replicas=2, rank=0, **options)


def reminder_of(sampler, *, as_batches=False):
    named = {"batch_sampler": BatchSampler(sampler, 2, drop_last=False)} if as_batches else {"sampler": sampler}
    return EpochReminder(TorchArguments(dataset=range(8), **named))


@pytest.mark.parametrize("as_batches", [False, True])
def test_an_epoch_with_the_order_of_the_one_before_is_warned_about_once(as_batches):
    reminder = reminder_of(distributed(), as_batches=as_batches)
    reminder.look(Place(epoch=0))
    with pytest.warns(UserWarning, match="epoch 1"):
        reminder.look(Place(epoch=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reminder.look(Place(epoch=2))


@pytest.mark.parametrize("sampler", [distributed(shuffle=False), range(8)])
def test_others_are_left_alone(sampler):
    reminder = reminder_of(sampler)
    reminder.tell(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epoch in range(3):
            reminder.look(Place(epoch=epoch))


def test_nothing_is_said_to_those_who_tell_the_sampler_or_go_on_with_an_epoch():
    sampler = distributed()
    reminder = reminder_of(sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reminder.look(Place(epoch=0))
        reminder.look(Place(epoch=0, batches=3))
        sampler.set_epoch(1)
        reminder.look(Place(epoch=1))
        reminder.tell(2)
        reminder.look(Place(epoch=2))
    assert sampler.epoch == 2
