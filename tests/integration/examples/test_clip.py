from __future__ import annotations

import csv
import re

import pytest
import torch

tokenizers = pytest.importorskip("tokenizers")

SMALL = ("--vision=resnet18", "--width=32", "--layers=1", "--size=48", "--batch-size=5", "--lr=0.002")
WORDS = ("red", "green", "blue", "bright", "dark")


def caption(number):
    return " ".join(word for place, word in enumerate(WORDS) if number >> place & 1) + f" photograph {number}"


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("clip")


@pytest.fixture(scope="module")
def captioned(photographs, tmp_path_factory):
    """A list of 20 photographs with captions of different lengths, and a tokenizer that was trained on these."""
    folder = tmp_path_factory.mktemp("captioned")
    paths = sorted(photographs.rglob("*.jpg"))[::3]
    with (folder / "list.csv").open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["image", "caption"])
        writer.writerows((path, caption(number)) for number, path in enumerate(paths))
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    made.train_from_iterator(map(caption, range(20)), trainer)
    made.save(str(folder / "tokenizer.json"))
    return str(folder / "list.csv"), str(folder / "tokenizer.json")


def test_images_come_with_the_ids_of_their_captions(example, captioned):
    path, tokenizer = captioned
    loader = example.make_train_loader(example.parse_arguments([path, f"--tokenizer={tokenizer}", *SMALL]))
    assert "fused: RandomResizedCrop" in loader.explain()
    words = tokenizers.Tokenizer.from_file(tokenizer)
    seen = set()
    for images, ids in loader:
        assert images.shape == (5, 3, 48, 48)
        assert ids.dtype == torch.int64
        seen |= {words.decode(row.tolist()) for row in ids}
        assert (ids != example.PADDING).sum(1).max() == ids.shape[1]
    assert seen == {caption(number).strip() for number in range(20)}


@pytest.mark.timeout(300)
def test_two_ranks_learn(captioned, run_example):
    path, tokenizer = captioned
    done = run_example("clip", f"--tokenizer={tokenizer}", *SMALL, "--epochs=6", ranks=2, data=path, what="images")
    assert done.returncode == 0, done.stderr[-4000:]
    losses = [float(loss) for loss in re.findall(r"^epoch \d: loss (\d+\.\d+)$", done.stdout, re.MULTILINE)]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    assert len(done.steps) == 6 * 2, "20 samples, 2 ranks, 5 rows"
