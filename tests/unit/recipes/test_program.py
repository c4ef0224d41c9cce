from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace import _native
from headrace._base.hashing import sample_keys
from headrace.codecs import decode_image
from headrace.contracts import Fault, ImageLimits
from headrace.errors import (
    CollateError,
    CorruptImageError,
    ImageLimitError,
    MissingFieldError,
    TransformError,
    UnsupportedImageError,
)
from headrace.recipes import ImageProgram, compile_transform
from tests.encoded_images import KINDS, allocate, column, photograph, pillow_rgb

JPEG = KINDS["jpeg 4:2:0"](photograph(80, 100))
PNG = KINDS["rgba"](photograph(80, 100))
KEYS = sample_keys(0, 0, np.arange(16))
CROP = v1.Compose([v1.RandomResizedCrop(16), v1.ToTensor()])
PYTHON = v1.Compose([v1.RandomResizedCrop(16), v1.ColorJitter(0.1), v1.ToTensor()])
VARIED = v1.Compose([v1.Resize(20)])
TRANSFORMS = {"fused": (CROP, True), "split": (PYTHON, True), "unfused": (CROP, False), "varied": (VARIED, True)}


class Counter:
    def __init__(self):
        self.counts = {}

    def count(self, event, num=1):
        self.counts[event] = self.counts.get(event, 0) + num


@pytest.fixture
def pool():
    pool = _native.Pool(0)
    yield pool
    pool.close()


def make(pool, transform, recorder=None, **options):
    return ImageProgram(compile_transform(transform, **options), pool, decode=decode_image, recorder=recorder)


def run(program, files, **options):
    return program.run(column(files), KEYS[: len(files)], allocate, **options)


def huge_jpeg():
    """A small file whose header claims 65500 x 65500."""
    data = bytearray(KINDS["grey jpeg"](photograph(16, 16)))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = (65500).to_bytes(2, "big") * 2
    return bytes(data)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (JPEG[: len(JPEG) * 6 // 10], CorruptImageError),
        (b"no image at all", UnsupportedImageError),
        (b"", UnsupportedImageError),
        (None, MissingFieldError),
        (PNG[: len(PNG) // 2], CorruptImageError),
        (huge_jpeg(), ImageLimitError),
    ],
    ids=["cut jpeg", "text", "empty", "missing", "cut png", "huge header"],
)
def test_bad_row_is_a_fault_and_the_others_are_as_without_it(pool, name, bad, error):
    transform, fuse = TRANSFORMS[name]
    torch.manual_seed(0)
    program = make(pool, transform, fuse=fuse)
    rows = run(program, [JPEG, bad, PNG])
    assert [fault.row for fault in rows.faults] == [1]
    assert isinstance(rows.faults[0].error, error)
    assert torch.count_nonzero(rows.values[1]) == 0
    if name != "split":  # its jitter draws from torch's global generator
        assert torch.equal(rows.values[0], run(program, [JPEG]).values[0])
    assert torch.count_nonzero(rows.values[2]) > 0


def test_batch_of_faults_alone(pool):
    for transform, fuse in TRANSFORMS.values():
        for files in ([b"x", b"y"], [None, None]):
            rows = run(make(pool, transform, fuse=fuse), files)
            assert [fault.row for fault in rows.faults] == [0, 1]
            assert rows.values == [None, None] if isinstance(rows.values, list) else not rows.values.any()


def test_empty_batch_of_a_fixed_size(pool):
    assert run(make(pool, CROP), []).values.shape == (0, 3, 16, 16)


@pytest.mark.parametrize("fuse", [True, False])
def test_limit_on_pixels_is_named(pool, fuse):
    program = make(pool, CROP, fuse=fuse, limits=ImageLimits(pixels=1000))
    for fault in run(program, [JPEG, PNG]).faults:
        assert isinstance(fault.error, ImageLimitError)
        assert "1000" in str(fault.error)


def test_all_kinds_in_one_batch(pool):
    files = [kind(photograph(40, 50)) for kind in KINDS.values()]
    rows = run(make(pool, None), files)
    assert rows.values.shape == (len(files), 3, 40, 50)
    for file, got in zip(files, rows.values, strict=True):
        assert np.array_equal(got.permute(1, 2, 0).numpy(), np.asarray(pillow_rgb(file)))


@pytest.mark.parametrize("memory_format", ["contiguous", "channels_last"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_memory_format(pool, name, memory_format):
    transform, fuse = TRANSFORMS[name]
    values = run(make(pool, transform, fuse=fuse, memory_format=memory_format), [JPEG, JPEG]).values
    wanted = torch.channels_last if memory_format == "channels_last" else torch.contiguous_format
    assert values.is_contiguous(memory_format=wanted)
    assert values.shape[1] == 3


def test_images_of_different_sizes_are_refused_or_listed(pool):
    files = [JPEG, KINDS["jpeg 4:2:0"](photograph(80, 90))]
    for transform in (None, VARIED, v1.Compose([v1.ColorJitter(), v1.ToTensor()])):
        program = make(pool, transform)
        with pytest.raises(CollateError, match="fixed size") as caught:
            run(program, files)
        assert "(3, " in str(caught.value)
        values = run(program, files, ragged="list").values
        assert [value.shape[0] for value in values] == [3, 3]


def test_middle_gets_what_torchvision_would_give(pool):
    seen = []
    look = seen.append

    def remember(image):
        look(image)
        return image

    make_program = lambda *ops: make(pool, v1.Compose([*ops, remember]))  # noqa: E731
    run(make_program(v1.RandomResizedCrop(16)), [JPEG])
    run(make_program(v2.RandomResizedCrop(16), v2.ToImage()), [JPEG])
    run(make_program(v1.RandomResizedCrop(16), v1.ToTensor()), [JPEG])
    run(make_program(v1.Resize(30)), [JPEG, PNG])
    pil, image, tensor, *resized = seen
    assert isinstance(pil, Image.Image)
    assert pil.mode == "RGB"
    assert type(image) is tv_tensors.Image
    assert image.dtype is torch.uint8
    assert image.stride() == v2.functional.to_image(pil).stride()
    assert type(tensor) is torch.Tensor
    assert tensor.is_contiguous()
    assert [value.size for value in resized] == [(37, 30), (37, 30)]


def test_transform_that_raises_is_a_fault_with_its_cause(pool):
    def fussy(image):
        raise KeyError("oops")

    rows = run(make(pool, v1.Compose([fussy, v1.ToTensor()])), [JPEG, JPEG])
    assert [fault.row for fault in rows.faults] == [0, 1]
    error = rows.faults[0].error
    assert isinstance(error, TransformError)
    assert isinstance(error.__cause__, KeyError)
    assert "fussy" in str(error)


def test_crop_larger_than_an_image_pads_as_torchvision_does_or_raises_as_it_does(pool):
    rows = run(make(pool, v2.Compose([v2.CenterCrop(90), v2.ToImage()])), [JPEG, JPEG])
    wanted = v2.functional.pil_to_tensor(v2.CenterCrop(90)(pillow_rgb(JPEG)))
    assert torch.equal(rows.values[0], wanted)
    rows = run(make(pool, v1.RandomCrop(90)), [JPEG])
    assert isinstance(rows.faults[0].error, TransformError)


def test_whole_sample_goes_through_start_middle_and_finish(pool):
    transform = v2.Compose([v2.RandomResizedCrop(16), v2.ColorJitter(), v2.ToImage()])
    program = make(pool, transform)
    assert program.recipe.whole_sample
    images = program.start(column([JPEG, b"", PNG]), KEYS[:3], allocate)
    assert isinstance(images[1], Fault)
    samples = {row: program.middle((images[row], 7), int(KEYS[row])) for row in (0, 2)}
    assert {sample[1] for sample in samples.values()} == {7}
    values = [samples[0][0], images[1], samples[2][0]]
    rows = program.finish(values, KEYS[:3], allocate)
    assert rows.values.shape == (3, 3, 16, 16)
    assert [fault.row for fault in rows.faults] == [1]


def test_suffix_on_what_it_was_not_made_for_is_torchvisions(pool):
    def to_grey(image):
        return image.convert("L")

    rows = run(make(pool, v1.Compose([v1.RandomResizedCrop(16), to_grey, v1.ToTensor()])), [JPEG])
    assert rows.values.shape == (1, 1, 16, 16)
    assert rows.values.dtype is torch.float32


def test_transforms_may_give_something_else_than_images(pool):
    rows = run(make(pool, v1.Compose([v1.CenterCrop(16), lambda image: {"width": image.width}])), [JPEG, JPEG])
    assert rows.values == [{"width": 16}] * 2


def test_large_images_are_decoded_in_portions(pool, monkeypatch):
    monkeypatch.setattr("headrace.recipes.prefix_runner.PORTION_PIXELS", 20_000)
    files = [JPEG, JPEG, None, JPEG, PNG, b"x", JPEG]  # 8,000 pixels each
    program = make(pool, v1.Compose([v1.ColorJitter(), v1.Resize((20, 20)), v1.ToTensor()]))
    portions = program.portions(column(files))
    assert np.concatenate(portions).tolist() == list(range(7))
    assert len(portions) > 2
    rows = run(program, files)
    assert [fault.row for fault in rows.faults] == [2, 5]
    monkeypatch.undo()
    assert len(program.portions(column(files))) == 1
    assert torch.equal(run(program, files).values, rows.values)


def test_suffix_of_a_portion_does_not_wait_for_the_batch(pool, monkeypatch):
    monkeypatch.setattr("headrace.recipes.prefix_runner.PORTION_PIXELS", 20_000)
    alive = []

    def watch(image):
        alive.append(weakref.ref(image))
        return image

    transform = v1.Compose([watch, v1.RandomResizedCrop(16), v1.RandomHorizontalFlip(), v1.ToTensor()])
    program = make(pool, transform)
    assert [op.name for op in program.recipe.middle] == ["watch"]
    files = [JPEG, b"x", JPEG, PNG, None, JPEG, JPEG, JPEG]
    counts = []

    def count(shape, dtype):
        counts.append(sum(reference() is not None for reference in alive))
        return allocate(shape, dtype)

    rows = program.run(column(files), KEYS[: len(files)], count)
    assert max(counts) < 5
    assert [fault.row for fault in rows.faults] == [1, 4]
    monkeypatch.undo()
    assert torch.equal(run(program, files).values, rows.values)


def test_images_of_a_fixed_size_are_one_portion(pool, monkeypatch):
    monkeypatch.setattr("headrace.recipes.prefix_runner.PORTION_PIXELS", 1)
    assert len(make(pool, PYTHON).portions(column([JPEG] * 5))) == 1


def test_run_one_is_the_row_of_the_batch(pool):
    transform = v2.Compose(
        [v2.RandomResizedCrop(16), v2.RandomHorizontalFlip(), v2.ToImage(), v2.ToDtype(torch.float32)]
    )
    program = make(pool, transform)
    rows = run(program, [JPEG, PNG])
    for row, data in enumerate((JPEG, PNG)):
        one = program.run_one(data, KEYS[row])
        assert type(one) is torch.Tensor
        assert torch.equal(one, rows.values[row])


def test_params_tell_the_geometry(pool):
    rows = run(make(pool, CROP), [JPEG, PNG])
    assert rows.params[:, :2].tolist() == [[80, 100], [80, 100]]
    assert (rows.params[:, 2] + rows.params[:, 4] <= 80).all()


def test_images_that_pillow_decodes_are_counted(pool):
    counter = Counter()
    run(make(pool, CROP, recorder=counter), [JPEG, PNG, PNG])
    assert counter.counts == {"pillow_decodes": 2}


def test_memory_is_leased_and_lives_as_long_as_the_tensor(pool):
    leases = []

    class Lease:
        pass

    def lend(shape, dtype):
        lease = Lease()
        leases.append(weakref.ref(lease))
        memory = np.empty(shape, dtype).view(Owned)
        memory.lease = lease
        return memory.view()

    class Owned(np.ndarray):
        lease = None

    values = make(pool, CROP).run(column([JPEG]), KEYS[:1], lend).values
    view = values[0, 1]
    del values
    gc.collect()
    assert leases[0]() is not None
    del view
    gc.collect()
    assert leases[0]() is None


def test_several_threads_give_the_same(pool):
    files = [JPEG, PNG] * 6
    many = _native.Pool(3)
    try:
        assert torch.equal(run(make(pool, CROP), files).values, run(make(many, CROP), files).values)
    finally:
        many.close()


def test_dct_scaling_gives_other_pixels_that_look_alike(pool):
    files = [KINDS["jpeg 4:2:0"](photograph(480, 480))] * 4
    exact, scaled = (
        run(make(pool, v1.Resize((60, 60)), dct_scaling=scaling), files).values for scaling in (False, True)
    )
    difference = (exact.int() - scaled.int()).abs().float()
    assert 0 < difference.mean() < 5
