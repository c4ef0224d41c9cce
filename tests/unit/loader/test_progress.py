import numpy as np
import pytest

from headrace.errors import OptionError
from headrace.loader.place import Place
from headrace.loader.progress import Progress

VALID = np.ones(2, dtype=bool)


def run_epoch(progress, num_batches):
    epoch = progress.begin().epoch
    for _ in range(num_batches):
        progress.delivered(VALID)
    progress.ended()
    return epoch


def test_epochs_advance_by_themselves():
    progress = Progress()
    assert [run_epoch(progress, 3) for _ in range(3)] == [0, 1, 2]


def test_an_epoch_that_delivered_nothing_is_not_used_up_but_one_that_is_empty_is():
    progress = Progress()
    assert progress.begin().epoch == 0
    assert progress.begin().epoch == 0
    progress.ended()
    assert progress.begin().epoch == 1


def test_a_broken_off_epoch_is_used_up():
    progress = Progress()
    progress.begin()
    progress.delivered(VALID)
    assert progress.begin().epoch == 1


def test_a_chosen_epoch_holds_against_batches_of_the_old_iterator():
    progress = Progress()
    progress.begin()
    progress.choose(7)
    progress.delivered(VALID)
    progress.ended()
    assert run_epoch(progress, 1) == 7
    assert run_epoch(progress, 1) == 8


def test_the_epoch_of_a_loaded_place_may_be_announced_but_another_one_starts_anew():
    place = Place(epoch=2, batches=3)
    progress = Progress()
    progress.go_to(place)
    progress.choose(2)
    assert progress.begin() == place
    progress.choose(2)
    assert progress.begin() == place, "nothing was delivered yet"
    progress.delivered(VALID)
    progress.choose(2)
    assert progress.begin() == Place(epoch=2), "the place is used up"
    progress.go_to(place)
    progress.choose(3)
    assert progress.begin() == Place(epoch=3)


@pytest.mark.parametrize("epoch", [-1, 1.5, "2", True, None, 2**64])
def test_epochs_that_are_none_are_refused(epoch):
    with pytest.raises(OptionError, match="set_epoch"):
        Progress().choose(epoch)
