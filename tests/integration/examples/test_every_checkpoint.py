import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("name", "num_checkpoints"), [("hf_trainer", [9, 3, 7]), ("lightning", [16, 13, 6, 2, 2, 4])])
def test_every_checkpoint_is_followed_by_the_rest_of_the_run(name, num_checkpoints, shards, tmp_path):
    """After any step, at the ends of epochs, after validation; with accumulated batches; counted in epochs or steps."""
    script = Path(__file__).with_name(f"every_checkpoint_{name}.py")
    done = subprocess.run(
        [sys.executable, str(script), str(ROOT / "examples" / name / "train.py"), shards],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=tmp_path,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"checkpoints": num_checkpoints, "wrong": []}
