from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torchvision
from torch import nn

import headrace as hr
from headrace.pack import PackOptions, pack

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "examples" / "evaluate_exactly" / "evaluate.py"
NUM_SAMPLES = 59


@pytest.fixture(scope="module")
def evaluate():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("evaluate_exactly", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def held_out(photographs, tmp_path_factory):
    """59 photographs, a number that no useful number of ranks divides."""
    folder = tmp_path_factory.mktemp("evaluate")
    for path in sorted(photographs.rglob("*.jpg"))[:NUM_SAMPLES]:
        (folder / "photographs" / path.parent.name).mkdir(parents=True, exist_ok=True)
        (folder / "photographs" / path.parent.name / path.name).symlink_to(path)
    pack(str(folder / "photographs"), str(folder / "shards"), PackOptions(samples_per_shard=20, name="val"))
    return str(folder / "shards")


@torch.no_grad()
def learn(args, loader):
    """Fits the last layer to half of the samples: better than by chance, and not always right."""
    torch.manual_seed(0)
    model = torchvision.models.get_model(args.model, num_classes=args.num_classes).eval()
    last, model.fc = model.fc, nn.Identity()
    images, labels = next(iter(loader))
    features = model(images)
    centre = features.mean(0)
    wanted = nn.functional.one_hot(labels, args.num_classes).float()
    last.weight.copy_(torch.linalg.lstsq(features - centre, wanted).solution.T)
    last.bias.copy_(-last.weight @ centre)
    model.fc = last
    torch.save(model.state_dict(), args.weights)


@pytest.mark.timeout(240)
def test_three_ranks_find_what_one_finds(evaluate, held_out, tmp_path):
    weights = tmp_path / "model.pt"
    small = ["--model=shufflenet_v2_x0_5", "--num-classes=10", "--size=64", "--batch-size=16"]
    arguments = [held_out, f"--weights={weights}", *small]
    args = evaluate.parse_arguments(arguments)
    loader = evaluate.make_loader(args)
    learn(args, hr.DataLoader(loader.dataset, NUM_SAMPLES // 2, shuffle="full"))
    alone = evaluate.evaluate(args)
    assert alone.num_samples == NUM_SAMPLES
    assert NUM_SAMPLES // 10 < alone.num_right < NUM_SAMPLES
    # 59 rows on 3 ranks of 16: in the last step one rank has 11 rows that count and two have none.
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3", str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip() == str(alone)
