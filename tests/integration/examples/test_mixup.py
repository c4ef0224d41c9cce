from __future__ import annotations

import re

import pytest
import torch

from tests.integration.examples.fingerprints import fingerprints

SMALL = ("--model=squeezenet1_1", "--size=64", "--batch-size=15")


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("mixup")


def test_labels_are_shares_of_two_classes(example, photographs):
    loader = example.make_train_loader(example.parse_arguments([str(photographs), *SMALL]))
    shares = torch.cat([labels for _ in range(3) for _, labels in loader])
    assert shares.shape == (180, 10)
    assert torch.allclose(shares.sum(1), torch.ones(180), atol=1e-5)
    assert set((shares > 0).sum(1).tolist()) == {1, 2}


@pytest.mark.timeout(300)
def test_goes_on_after_a_crash_with_the_same_mixtures(example, photographs, run_example, tmp_path):
    loader = example.make_train_loader(example.parse_arguments([str(photographs), *SMALL]))
    whole = [fingerprints(images) for _ in range(3) for images, _ in loader]
    options = {"ranks": 1, "data": str(photographs), "what": "images"}
    arguments = (*SMALL, "--epochs=3", "--checkpoint=checkpoint.pt", "--save-every=2")
    first = run_example("mixup", *arguments, die_at=7, **options)
    assert first.returncode != 0
    (tmp_path / "mixup-1.0").rename(tmp_path / "first.log")
    second = run_example("mixup", *arguments, **options)
    assert second.returncode == 0, second.stderr[-4000:]
    assert first.steps[:6] + second.steps == whole
    assert re.findall(r"^epoch (\d): loss \d+\.\d+$", second.stdout, re.MULTILINE) == ["1", "2"]
