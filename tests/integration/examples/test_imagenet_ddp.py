import math
import re

import pytest

SMALL = ["--model=squeezenet1_1", "--num-classes=60", "--size=64", "--epochs=3"]
KEPT = ["--checkpoint=checkpoint.pt", "--save-every=2"]


@pytest.mark.timeout(300)
def test_goes_on_after_a_crash_on_another_number_of_ranks(run_example, whole_run, shards, tmp_path):
    """Dies in the second epoch, on the step after a checkpoint."""
    first = run_example("imagenet_ddp", *SMALL, *KEPT, "--batch-size=14", ranks=1, die_at=7)
    assert first.returncode != 0
    assert [path.name for path in tmp_path.glob("checkpoint*")] == ["checkpoint.pt"]
    second = run_example("imagenet_ddp", *SMALL, *KEPT, "--batch-size=7", f"--validate={shards}", ranks=2)
    assert second.returncode == 0, second.stderr[-4000:]
    assert first.steps[:6] + second.steps == whole_run(epochs=3, global_batch=14)
    lines = re.findall(r"^epoch (\d): loss (\d+\.\d+), accuracy ([\d.]+)%$", second.stdout, re.MULTILINE)
    assert [epoch for epoch, _, _ in lines] == ["1", "2"]
    for _, loss, percent in lines:
        assert float(loss) == pytest.approx(math.log(60), rel=0.2), "the mean over an epoch, or over the rest of one"
        # 60 samples on 2 ranks with batches of 7 end in a padded step: a share of 60 shows that no row counted twice.
        right = float(percent) / 100 * 60
        assert abs(right - round(right)) < 0.01
