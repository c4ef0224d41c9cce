from __future__ import annotations

import csv
import re

import pytest
import torch

from tests.integration.examples.fingerprints import fingerprints

tokenizers = pytest.importorskip("tokenizers")

SMALL = ("--vision=resnet18", "--width=32", "--layers=1", "--size=48", "--lr=0.002")
BATCH = "--batch-size=6"
NUM_PHOTOGRAPHS = 24
WORDS = ("red", "green", "blue", "bright", "dark")


def caption(number):
    return " ".join(word for place, word in enumerate(WORDS) if number >> place & 1) + f" photograph {number}"


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("clip")


@pytest.fixture(scope="module")
def captioned(photographs, tmp_path_factory):
    """A list of photographs with captions of different lengths, and a tokenizer that was trained on these."""
    folder = tmp_path_factory.mktemp("captioned")
    paths = sorted(photographs.rglob("*.jpg"))[::2][:NUM_PHOTOGRAPHS]
    with (folder / "list.csv").open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(["image", "caption"])
        writer.writerows((path, caption(number)) for number, path in enumerate(paths))
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    trainer = tokenizers.trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    made.train_from_iterator(map(caption, range(NUM_PHOTOGRAPHS)), trainer)
    made.save(str(folder / "tokenizer.json"))
    return str(folder / "list.csv"), str(folder / "tokenizer.json")


def test_images_come_with_the_ids_of_their_captions(example, captioned):
    path, tokenizer = captioned
    loader = example.make_train_loader(example.parse_arguments([path, f"--tokenizer={tokenizer}", BATCH, *SMALL]))
    assert "fused: RandomResizedCrop" in loader.explain()
    words = tokenizers.Tokenizer.from_file(tokenizer)
    seen = set()
    for images, ids in loader:
        assert images.shape == (6, 3, 48, 48)
        assert ids.dtype == torch.int64
        seen |= {words.decode(row.tolist()) for row in ids}
        assert (ids != example.PADDING).sum(1).max() == ids.shape[1]
    assert seen == {caption(number).strip() for number in range(NUM_PHOTOGRAPHS)}


@pytest.mark.timeout(300)
def test_two_ranks_learn(captioned, run_example):
    path, tokenizer = captioned
    options = (f"--tokenizer={tokenizer}", BATCH, *SMALL, "--epochs=6")
    done = run_example("clip", *options, ranks=2, data=path, what="images")
    assert done.returncode == 0, done.stderr[-4000:]
    losses = [float(loss) for loss in re.findall(r"^epoch \d: loss (\d+\.\d+)$", done.stdout, re.MULTILINE)]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    assert len(done.steps) == 6 * 2, "24 samples, 2 ranks, 6 rows"


@pytest.mark.timeout(300)
def test_goes_on_after_a_crash(example, captioned, goes_on_with_the_same_images):
    """Every step is made from the photographs and crops of the run that nothing stops."""
    path, tokenizer = captioned
    options = [f"--tokenizer={tokenizer}", *SMALL, "--epochs=3"]
    loader = example.make_train_loader(example.parse_arguments([path, *options, BATCH]))
    whole = [fingerprints(images) for _ in range(3) for images, _ in loader]
    loader.close()
    printed = goes_on_with_the_same_images("clip", path, whole, *options, batch_size=3)
    assert re.findall(r"^epoch (\d): loss", printed, re.MULTILINE) == ["0", "1", "2"]
