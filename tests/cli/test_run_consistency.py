"""What the report says of a folder whose results do not belong together."""

from __future__ import annotations

from pathlib import Path

from program import ROOT, done

DEMO = ROOT / "models/demo"


def notes(run: Path) -> list[str]:
    return [line for line in done("report", run, "-o", run / "page.html").splitlines() if "other maps" in line
            or "different models" in line]


def test_maps_that_were_replaced_are_noticed(tmp_path: Path) -> None:
    done("capture", DEMO, "-o", tmp_path, "--text", "Simon has a kite.")
    done("organize", tmp_path, "-o", tmp_path, "--controls", "0")
    done("softmax", tmp_path, "-o", tmp_path)
    assert notes(tmp_path) == []
    done("capture", DEMO, "-o", tmp_path, "--text", "The frog carried a heavy bell.", "--force")
    assert notes(tmp_path) == ["What 'organize' found is of other maps than pattern.npy; run it again.",
                               "What 'softmax' found is of other maps than scores.npy; run it again."]
    done("organize", tmp_path, "-o", tmp_path, "--controls", "0", "--force")
    assert notes(tmp_path) == ["What 'softmax' found is of other maps than scores.npy; run it again."]


def test_models_that_were_mixed_are_noticed(tmp_path: Path) -> None:
    done("relate", DEMO, "-o", tmp_path)
    done("detect", DEMO, "-o", tmp_path)
    assert notes(tmp_path) == []
    done("detect", ROOT / "models/induction", "-o", tmp_path, "--force")
    (note,) = notes(tmp_path)
    assert note.startswith("These results are of 2 different models: ")
