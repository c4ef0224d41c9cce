import json

import pytest

TORCHVISION = ("--model=squeezenet1_1",)
RESNET = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1], "layer_type": "basic"}
SMALL = ("--num-classes=60", "--size=64", "--epochs=2", "--save-every=4")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "model", "with_ranks"),
    [
        ("accelerate", TORCHVISION, ""),
        ("hf_trainer", ("--model=resnet",), ""),
        ("lightning", TORCHVISION, "--devices={}"),
    ],
)
def test_goes_on_after_a_crash_on_another_number_of_ranks(name, model, with_ranks, run_example, whole_run, tmp_path):
    """Two ranks die in the second epoch, two steps after a checkpoint; one rank does the rest in twice as many batches.

    Were the loader wrapped in a distributed sampler, two ranks would not make up the global batches; were batches
    skipped that the loader has behind it already, or none at all, the second part would not follow the first.
    """
    (tmp_path / "resnet").mkdir()
    (tmp_path / "resnet" / "config.json").write_text(json.dumps(RESNET))
    options = [*model, *SMALL, "--batch-size=5"]
    first = run_example(name, *options, *filter(None, [with_ranks.format(2)]), ranks=2, die_at=10)
    assert first.returncode != 0
    second = run_example(name, *options, "--accumulate=2", ranks=1, torchrun=False)
    assert second.returncode == 0, second.stderr[-4000:]
    halves = zip(second.steps[::2], second.steps[1::2], strict=True)
    assert first.steps[:8] + [[*one, *other] for one, other in halves] == whole_run(epochs=2, global_batch=10)
