import json
import re

import pytest

TORCHVISION = ("--model=squeezenet1_1",)
RESNET = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1], "layer_type": "basic"}
SMALL = ("--num-classes=60", "--size=64", "--epochs=2", "--save-every=5")
BATCH = "--batch-size=7"


@pytest.fixture
def goes_on_after_a_crash(run_example, whole_run):
    """Two ranks die in the second epoch, on the second step after a checkpoint; one rank does the rest.

    Were the loader wrapped in a distributed sampler, two ranks would not make up the global batches; were batches
    skipped that the loader has behind it already, or none at all, the second part would not follow the first; were
    the accumulated batches counted wrongly, steps would be made from other batches. Gives what both runs printed.
    """

    def check(name, *options, two_ranks, one_rank):
        first = run_example(name, *options, *SMALL, *two_ranks, ranks=2, die_at=7)
        assert first.returncode != 0
        second = run_example(name, *options, *SMALL, *one_rank, ranks=1, torchrun=False)
        assert second.returncode == 0, second.stderr[-4000:]
        assert first.steps[:5] + second.steps == whole_run(epochs=2, global_batch=14)
        return first.stdout + second.stdout

    return check


@pytest.mark.timeout(300)
def test_accelerate(goes_on_after_a_crash):
    goes_on_after_a_crash("accelerate", *TORCHVISION, two_ranks=[BATCH], one_rank=[BATCH, "--accumulate=2"])


@pytest.mark.timeout(300)
def test_hf_trainer(goes_on_after_a_crash, tmp_path):
    (tmp_path / "resnet").mkdir()
    (tmp_path / "resnet" / "config.json").write_text(json.dumps(RESNET))
    goes_on_after_a_crash("hf_trainer", "--model=resnet", two_ranks=[BATCH], one_rank=[BATCH, "--accumulate=2"])


@pytest.mark.timeout(300)
def test_lightning(goes_on_after_a_crash, shards):
    options = [*TORCHVISION, f"--validate={shards}"]
    two_ranks, one_rank = [BATCH, "--devices=2"], ["--batch-size=14"]
    printed = goes_on_after_a_crash("lightning", *options, two_ranks=two_ranks, one_rank=one_rank)
    accuracies = re.findall(r"epoch (\d): accuracy ([\d.]+)%", printed)
    assert [epoch for epoch, _ in accuracies] == ["0", "1"]
    # On two ranks batches of 7 end in a padded step: a share of 60 shows that no row counted twice.
    for _, percent in accuracies:
        right = float(percent) / 100 * 60
        assert abs(right - round(right)) < 0.01
