from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from headrace.pack import PackOptions, pack

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "imagenet_ddp" / "train.py"


def test_trains_and_validates_on_two_ranks(photographs, tmp_path):
    pack(str(photographs), str(tmp_path / "shards"), PackOptions(samples_per_shard=20, name="train"))
    shards = str(tmp_path / "shards" / "train-{000000..000002}.tar")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    small = ["--model=squeezenet1_1", "--num-classes=10", "--size=64", "--batch-size=7", "--epochs=2"]
    done = subprocess.run(
        [*torchrun, str(SCRIPT), shards, "--validate", shards, *small, "--save", str(tmp_path / "model.pt")],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = re.findall(r"^epoch (\d): loss \d+\.\d+, accuracy ([\d.]+)%$", done.stdout, re.MULTILINE)
    assert [epoch for epoch, _ in lines] == ["0", "1"]
    # 60 samples on 2 ranks with batches of 7 end in a padded step: a share of 60 shows that no row counted twice.
    for _, percent in lines:
        right = float(percent) / 100 * 60
        assert abs(right - round(right)) < 0.01
    assert (tmp_path / "model.pt").stat().st_size > 1_000_000
