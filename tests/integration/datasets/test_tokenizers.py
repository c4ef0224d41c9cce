"""Captions through a tokenizer of Hugging Face as a rule of `collate=`."""

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import TransformError
from headrace.recipes import randomness

tokenizers = pytest.importorskip("tokenizers")

ENGINES = [{"num_workers": 0}, {"engine": "threads", "num_workers": 2}, {"engine": "processes", "num_workers": 2}]
NUM = 24
CAPTIONS = [f"a {'very ' * (number % 4)}small photograph number {number}" for number in range(NUM)]
IMAGES = {"jpg": v2.Compose([v2.Resize((16, 16)), v2.ToImage()])}


@pytest.fixture(scope="module")
def tokenizer():
    """A byte pair encoding, trained on the captions."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    made.train_from_iterator(CAPTIONS, trainer)
    return made


@pytest.fixture(scope="module")
def shards(photographs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("captions")
    images = sorted(photographs.rglob("*.jpg"))[:NUM]
    with hr.ShardWriter(folder / "s-%02d.tar", samples_per_shard=9) as writer:
        for number, (image, caption) in enumerate(zip(images, CAPTIONS, strict=True)):
            writer.write({"__key__": f"k{number:02d}", "jpg": image.read_bytes(), "txt": caption})
    return folder


class Encode:
    """Token ids of captions as a padded tensor, with their lengths: what a collate function of one's own does."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, captions):
        found = [encoding.ids for encoding in self.tokenizer.encode_batch(captions)]
        longest = max(map(len, found))
        ids = torch.tensor([one + [0] * (longest - len(one)) for one in found])
        return {"ids": ids, "lengths": torch.tensor(list(map(len, found)))}


class Strict(Encode):
    """One that refuses a caption."""

    def __call__(self, captions):
        if any(caption.endswith("5") for caption in captions):
            raise ValueError("no fives")
        return super().__call__(captions)


def expected(tokenizer, numbers):
    return [tokenizer.encode(CAPTIONS[number]).ids for number in numbers]


@pytest.mark.parametrize("options", ENGINES)
def test_captions_become_padded_ids(shards, tokenizer, options):
    dataset = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=IMAGES)
    loader = hr.DataLoader(dataset, 8, collate={"txt": Encode(tokenizer)}, extras=("index",), shuffle=True, **options)
    num = 0
    for images, text, index in loader:
        wanted = expected(tokenizer, index.tolist())
        assert images.shape == (8, 3, 16, 16)
        assert text["lengths"].tolist() == list(map(len, wanted))
        assert text["ids"].shape == (8, max(map(len, wanted)))
        assert [row[: len(ids)].tolist() for row, ids in zip(text["ids"], wanted, strict=True)] == wanted
        assert not any(row[len(ids) :].any() for row, ids in zip(text["ids"], wanted, strict=True))
        num += 1
    assert num == 3


@pytest.mark.parametrize("options", ENGINES)
def test_ids_that_are_made_in_the_transform_are_padded_by_a_rule(shards, tokenizer, options):
    transform = IMAGES | {"txt": lambda caption: torch.tensor(tokenizer.encode(caption).ids)}
    dataset = hr.ShardDataset(shards, fields={"image": "jpg", "ids": "txt"}, transform=transform)
    pad = hr.Pad(value=9, multiple_of=8, max_length=12, lengths=True)
    for first, batch in zip(range(0, NUM, 6), hr.DataLoader(dataset, 6, collate={"ids": pad}, **options), strict=True):
        ids, lengths = batch["ids"]
        wanted = [one[:12] for one in expected(tokenizer, range(first, first + 6))]
        assert ids.shape[1] % 8 == 0
        assert lengths.tolist() == list(map(len, wanted))
        assert all(row.tolist() == one + [9] * (len(row) - len(one)) for row, one in zip(ids, wanted, strict=True))


@pytest.mark.parametrize("options", ENGINES)
def test_a_caption_that_it_refuses_is_named(shards, tokenizer, options):
    dataset = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=IMAGES)
    loader = hr.DataLoader(dataset, 8, collate={"txt": Strict(tokenizer)}, **options)
    with pytest.raises(TransformError, match=r"collate= raised ValueError: no fives") as caught:
        list(loader)
    loader.close()
    where = caught.value.where
    assert (where["key"], where["field"], where["stage"]) == ("k05", "txt", "collate")
    assert where["shard"].endswith("s-00.tar")
    assert not caught.value.retryable


@pytest.mark.parametrize("options", ENGINES)
def test_captions_that_it_refuses_are_left_out(shards, tokenizer, options):
    dataset = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=IMAGES)
    loader = hr.DataLoader(
        dataset, 8, collate={"txt": Strict(tokenizer)}, on_error="skip", extras=("valid",), **options
    )
    batches = list(loader)
    valid = torch.cat([batch[2] for batch in batches])
    assert [number for number in range(NUM) if not valid[number]] == [5, 15]
    whole = list(hr.DataLoader(dataset, 8, collate={"txt": Encode(tokenizer)}))
    for number in range(NUM):
        ids, same = batches[number // 8][1]["ids"][number % 8], whole[number // 8][1]["ids"][number % 8]
        image, plain = batches[number // 8][0][number % 8], whole[number // 8][0][number % 8]
        num = min(len(ids), len(same))
        assert (torch.equal(image, plain) and torch.equal(ids[:num], same[:num])) == bool(valid[number])
    assert loader.stats().counts["skipped_samples"] == 2


def test_whole_samples_of_a_transform_are_named_too(shards, tokenizer):
    def joint(sample):
        return {"t": sample[1], "x": torch.zeros(2)}

    dataset = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=joint)
    loader = hr.DataLoader(dataset, 8, num_workers=0, collate={"t": Strict(tokenizer)})
    with pytest.raises(TransformError, match=r"no fives.*") as caught:
        list(loader)
    loader.close()
    assert (caught.value.where["key"], caught.value.where["field"]) == ("k05", "t")
    loader = hr.DataLoader(dataset, 8, num_workers=0, collate={"t": Strict(tokenizer)}, on_error="skip")
    next(iter(loader))
    loader.close()
    assert loader.valid.tolist() == [row != 5 for row in range(8)]


def test_a_function_that_never_works_keeps_its_error(shards):
    def broken(captions):
        raise OSError(f"no vocabulary for {len(captions)}")

    dataset = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=IMAGES)
    loader = hr.DataLoader(dataset, 8, num_workers=0, collate={"txt": broken}, on_error="skip")
    with pytest.raises(OSError, match="no vocabulary for 8") as caught:
        list(loader)
    loader.close()
    assert any("collate= of field 'txt'" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("options", ENGINES)
def test_numbers_of_the_sample_in_transforms_of_every_kind(shards, options):
    """`headrace.rng()` in callables by field, in one for the whole sample, and in a dataset of Python."""
    by_field = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=IMAGES | {"txt": lambda _: hr.rng().random()})
    whole = hr.ShardDataset(shards, fields=("jpg", "txt"), transform=lambda _: hr.rng().random())
    drawn = [
        torch.cat(
            [batch[-1] if isinstance(batch, list) else batch for batch in hr.DataLoader(one, 8, seed=6, **options)]
        )
        for one in (by_field, whole)
    ]
    key = hr.DataLoader(whole, 8, seed=6, num_workers=0, batch_transform=lambda batch: batch).peek()
    assert torch.equal(drawn[0], drawn[1])
    assert torch.equal(drawn[0][:8], key)
    assert len(set(drawn[0].tolist())) == NUM
    assert not randomness.is_keyed()
    assert np.isfinite(drawn[0].numpy()).all()
