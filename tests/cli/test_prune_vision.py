"""`headscope prune` on the bundled vision model: what it says of structure and chance is what it measured."""

from __future__ import annotations

import csv
import json
import os
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
    criteria = ["--criteria", "information,redundancy,pk,norm,random", "--replace", "zero"]
    done = subprocess.run([*command, *criteria], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = json.loads((run / "prune.json").read_text())
    said = summary["said"]
    assert done.stdout.startswith(said + "\n")
    assert summary["criteria_tried"] == 4
    beats = {one["criterion"]: one["beats_random"] for one in summary["rankings"] if one["criterion"] != "random"}
    assert set(beats) == {"information", "redundancy", "pk", "norm"}
    assert not (beats["information"] or beats["redundancy"] or beats["pk"])
    # norm removes the heads of the last layers, which the model does not need; which heads of a layer does not matter.
    assert said.startswith("norm beats" if beats["norm"] else "No criterion beats random orders, of 4 tried (")
    with (run / "orders.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for one in summary["rankings"]:
        if one["criterion"] == "random":
            continue
        for control, criterion in (("random", ""), ("random_by_layer", one["criterion"])):
            others = [float(row["damage"]) for row in rows if row["criterion"] == criterion]
            assert one[control]["orders"] == len(others)
            assert one[control]["better_than"] == sum(other > one["damage"] for other in others)
