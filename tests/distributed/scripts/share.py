"""Makes the same lists on every rank and writes down what each rank got."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import headrace as hr

folder, held = Path(sys.argv[1]), Path(sys.argv[2])
rank = os.environ["RANK"]
paths = hr.SharedList(f"/data/{number:06d}.jpg" for number in range(10_000))
labels = hr.SharedDict({path: number % 10 for number, path in enumerate(paths)})
own = hr.SharedList([f"of rank {rank}"])
named = hr.SharedList.once("named", lambda: [f"made by rank {rank}"])
tokens = [one.block.header.token.hex() for one in (paths, labels, named, own)]
facts = {"tokens": tokens, "last": paths[-1], "label": labels[paths[7]], "own": own[0], "named": named[0]}
(folder / f"{rank}.json").write_text(json.dumps(facts))
(held / rank).touch()
while len(list(held.iterdir())) < int(os.environ["WORLD_SIZE"]):  # a rank that ends early takes its blocks along
    time.sleep(0.01)
