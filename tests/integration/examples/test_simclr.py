from __future__ import annotations

import re

import pytest
import torch
from torch.nn import functional

from tests.integration.examples.fingerprints import fingerprints

NUM_PHOTOGRAPHS = 60
SIZE = 48


@pytest.fixture(scope="module")
def example(load_script):
    return load_script("simclr")


def texture(images):
    """What crops, flips and colours leave as it is, roughly: how fast brightness changes; shape (rows, 3)."""
    grey = images.mean(1, keepdim=True)
    coarse = functional.avg_pool2d(grey, 4)
    changes = [grey.diff(dim=-1), grey.diff(dim=-2), coarse.diff(dim=-1)]
    contrast = grey.flatten(1).std(1)
    return torch.stack([change.abs().flatten(1).mean(1) / contrast for change in changes], 1).log()


def mean_rank(first, second):
    """How many of the second views are nearer to a first view than the one of the same row is, on the average."""
    distances = torch.cdist(texture(first), texture(second))
    return float((distances < distances.diagonal()[:, None]).sum(1).float().mean())


def test_two_views_are_of_one_photograph_and_differ(example, shards):
    loader = example.make_loader(example.parse_arguments([shards, f"--size={SIZE}", "--batch-size=20"]))
    batches = list(loader)
    loader.close()
    first, second = (torch.cat([views[number] for views in batches]) for number in (0, 1))
    assert first.shape == second.shape == (NUM_PHOTOGRAPHS, 3, SIZE, SIZE)
    assert len({*fingerprints(first), *fingerprints(second)}) == 2 * NUM_PHOTOGRAPHS
    assert mean_rank(first, second) < 0.25 * NUM_PHOTOGRAPHS
    assert mean_rank(first, second.roll(1, 0)) > 0.35 * NUM_PHOTOGRAPHS, "of views of other photographs"


def plain_nt_xent(first, second, temperature):
    """Equation 1 of the paper, written as it stands there."""
    views = [view for pair in zip(first, second, strict=True) for view in pair]
    terms = []
    for i, one in enumerate(views):
        similar = [torch.cosine_similarity(one, other, dim=0) / temperature for other in views]
        others = torch.stack([value for k, value in enumerate(similar) if k != i])
        terms.append(torch.log(others.exp().sum()) - similar[i ^ 1])
    return torch.stack(terms).mean()


def test_the_loss_is_that_of_the_paper(example):
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(5, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    for temperature in (0.1, 1.0):
        expected = plain_nt_xent(first, second, temperature)
        torch.testing.assert_close(example.nt_xent(first, second, temperature), expected)


@pytest.mark.timeout(300)
def test_learns_and_goes_on_after_a_crash(example, shards, goes_on_with_the_same_images):
    """Both views of each photograph are those of the run that nothing stops."""
    loader = example.make_loader(example.parse_arguments([shards, f"--size={SIZE}", "--batch-size=14"]))
    whole = [[*fingerprints(first), *fingerprints(second)] for _ in range(3) for first, second in loader]
    loader.close()
    options = ["--model=resnet18", f"--size={SIZE}", "--epochs=3", "--lr=1.0"]
    printed = goes_on_with_the_same_images("simclr", shards, whole, *options, batch_size=7)
    lines = re.findall(r"^epoch (\d): loss (\d+\.\d+)$", printed, re.MULTILINE)
    assert [epoch for epoch, _ in lines] == ["0", "1", "2"]
    assert float(lines[-1][1]) < float(lines[0][1])
