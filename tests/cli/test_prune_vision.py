"""`headscope prune` on the bundled vision model: what it says of structure and chance is what it measured."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
MODEL = ROOT / "models/demo-vit"


def test_it_says_so_when_structure_does_not_beat_chance(tmp_path: Path) -> None:
    samples = json.loads((MODEL / "samples.json").read_text())["samples"]
    np.save(tmp_path / "labels.npy", np.array([sample["label"] for sample in samples]))
    images = [word for sample in samples for word in ("--image", MODEL / sample["file"])]
    run = tmp_path / "run"
    command = [HEADSCOPE, "prune", MODEL, "-o", run, *images, "--labels", tmp_path / "labels.npy", "--points", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (run / "curve.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["removed"] == "12"]
    random = [float(row["loss"]) for row in rows if row["criterion"] == "random"]
    loss = {row["criterion"]: float(row["loss"]) for row in rows}
    structural = {name: loss[name] for name in ("information", "redundancy", "pk")}
    said = json.loads((run / "prune.json").read_text())["said"]
    assert said in done.stdout
    assert len(random) == 20
    winners = {name for name, value in structural.items() if value < min(random)}
    if winners:
        assert "structure beats chance" in said and set(re.findall(r"(\w+) \(", said.split(" do")[0])) == winners
    else:
        best = min(structural, key=structural.__getitem__)
        beaten = sum(value > structural[best] for value in random)
        assert said.startswith("No structural criterion does less damage than every one of 20 random orders")
        assert re.search(rf"the best, {best} \(.*\), beats {beaten} of them\.$", said)
