import pytest

from headrace.loader.place import Place


@pytest.mark.parametrize(
    ("place", "began", "num"),
    [
        (Place(batches=5), Place(), 5),
        (Place(epoch=2, batches=5), Place(epoch=2, batches=3), 2),
        (Place(epoch=2), Place(epoch=2), 0),
        (Place(epoch=2, batches=3), Place(epoch=2, batches=5), 0),
        (Place(epoch=2, start=8, batches=4), Place(epoch=2, batches=3), 4),  # after a change of size
        (Place(epoch=3, batches=4), Place(epoch=2, batches=3), 4),
    ],
)
def test_batches_since_an_earlier_place(place, began, num):
    assert place.batches_since(began) == num
