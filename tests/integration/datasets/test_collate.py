"""`collate=` over shards: each leaf by its own rule."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import headrace as hr
from headrace.errors import CollateError, OptionError

NUM = 6


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Images of several sizes, texts of several lengths, labels."""
    folder = tmp_path_factory.mktemp("captions")
    with hr.ShardWriter(str(folder / "part-%03d.tar"), samples_per_shard=4) as writer:
        for number in range(NUM):
            data = io.BytesIO()
            Image.fromarray(np.full((8 + number, 9, 3), 40 * number, dtype=np.uint8)).save(data, "PNG")
            words = " ".join(["word"] * (number + 1))
            writer.write({"__key__": f"k{number}", "png": data.getvalue(), "txt": words, "cls": number})
    return str(folder)


def count_words(texts):
    return torch.tensor([len(text.split()) for text in texts])


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("rules", [{"png": "pad", "txt": count_words}, {0: "pad", 1: count_words}])
def test_each_leaf_of_a_tuple_by_name_or_place(shards, num_workers, rules):
    dataset = hr.ShardDataset(shards, fields=("png", "txt", "cls"))
    images, words, labels = hr.DataLoader(dataset, NUM, num_workers=num_workers, collate=rules).peek()
    assert images.shape == (NUM, 3, 8 + NUM - 1, 9)
    assert images[2, :, :10].eq(80).all()
    assert images[2, :, 10:].eq(0).all()
    assert words.tolist() == [1, 2, 3, 4, 5, 6]
    assert labels.tolist() == list(range(NUM))


def test_images_of_several_sizes_as_a_list_in_a_dict(shards):
    dataset = hr.ShardDataset(shards, fields={"image": "png", "label": "cls"})
    batch = hr.DataLoader(dataset, NUM, num_workers=2, collate={"image": "list", "label": "list"}).peek()
    assert [image.shape[1] for image in batch["image"]] == [8, 9, 10, 11, 12, 13]
    assert batch["label"] == list(range(NUM)), "numbers as the dataset gives them"


def test_images_that_differ_are_told_which_rules_take_them(shards):
    dataset = hr.ShardDataset(shards, fields={"image": "png"})
    with pytest.raises(CollateError, match=r'\[.*field=image.*a rule in collate=: "list" .* "pad" ') as caught:
        hr.DataLoader(dataset, NUM, num_workers=0).peek()
    for rule in ("list", "pad"):
        assert f'"{rule}"' in caught.value.remedy
        assert len(hr.DataLoader(dataset, NUM, num_workers=0, collate={"image": rule}).peek()["image"]) == NUM


def test_images_of_one_size_go_by_the_rule_too(shards):
    dataset = hr.ShardDataset(shards, fields="png", transform=v2.Resize((8, 8)))
    images = hr.DataLoader(dataset, NUM, num_workers=2, collate=hr.Pad(multiple_of=1, lengths=True)).peek()
    assert images[0].shape == (NUM, 3, 8, 8)
    assert images[1].tolist() == [3] * NUM


def test_a_function_for_whole_samples(shards):
    dataset = hr.ShardDataset(shards, fields=("txt", "cls"))
    loader = hr.DataLoader(dataset, 3, num_workers=2, collate=lambda samples: [text * label for text, label in samples])
    assert loader.peek() == ["", "word word", "word word word" * 2]


def test_leaves_after_a_transform_that_keeps_the_structure(shards):
    def lengthen(sample):
        image, label = sample
        return image, torch.arange(label)

    dataset = hr.ShardDataset(shards, fields=("png", "cls"), transform=lengthen)
    _, labels = hr.DataLoader(dataset, 3, num_workers=2, collate={0: "list", 1: "pad"}).peek()
    assert labels.tolist() == [[0, 0], [0, 0], [0, 1]]


def test_a_rule_for_a_leaf_that_is_not_there(shards):
    dataset = hr.ShardDataset(shards, fields=("txt", "cls"))
    with pytest.raises(OptionError, match=r"'text'.*accepted: txt, cls"):
        len(hr.DataLoader(dataset, 3, collate={"text": "pad"}))


def test_what_does_not_fit_names_the_leaf(shards):
    dataset = hr.ShardDataset(shards, fields=("txt", "cls"), transform={"txt": lambda text: np.ones(len(text))})
    with pytest.raises(CollateError, match=r"field=txt.*collate="):
        list(hr.DataLoader(dataset, 3, num_workers=2))


def test_two_ways_to_put_batches_together_exclude_each_other(shards):
    with pytest.raises(OptionError, match="collate_fn excludes collate"):
        hr.DataLoader(hr.ShardDataset(shards, fields="cls"), collate_fn=list, collate="list")
