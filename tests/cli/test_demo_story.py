"""What `headscope demo` says of the bundled models, against what was measured of them in PyTorch (behavior.json)."""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import subprocess
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADSCOPE = ROOT / os.environ.get("HEADSCOPE", "build/headscope")
BEHAVIOR = json.loads((ROOT / "models/demo/behavior.json").read_text())


def head_name(text: str) -> str:
    layer, head = text.split(".")
    return f"L{layer}H{head}"


def classes(name: str) -> set[str]:
    return {head_name(head) for head in BEHAVIOR["classes"][name]}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run([HEADSCOPE, "demo", "-o", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def test_it_ends_by_naming_the_pages(demo: tuple[str, Path]) -> None:
    text, folder = demo
    pages = [Path(line.strip()) for line in text.splitlines()[-2:]]
    assert pages == [folder / "language.html", folder / "vision.html"]
    for page in pages:
        assert page.read_text().startswith("<!doctype html>") and page.stat().st_size < 8e6


def test_the_circuit_is_the_one_that_was_measured(demo: tuple[str, Path]) -> None:
    told = re.findall(r"(L\dH\d) looks at the word before \([\d.]+\); the keys of (.*) read what it writes", demo[0])
    assert {source for source, _ in told} == classes("previous")
    for _, targets in told:
        assert set(re.findall(r"L\dH\d", targets)) == classes("induction")


def test_what_ablation_costs_is_what_was_measured(demo: tuple[str, Path]) -> None:
    cost = {f"L{head['layer']}H{head['head']}": head["repeated_list"]["loss_increase"] for head in BEHAVIOR["heads"]}
    told = re.findall(
        r"(L\dH\d) looks at the word before.*\n +Without it the loss on lists goes from ([\d.]+) to ([\d.]+)(.*)\.",
        demo[0],
    )
    assert len(told) == len(classes("previous"))
    for head, before, after, rest in told:
        # Other texts and all words of them, so only what is much and what is next to nothing can be compared.
        assert (float(after) - float(before) > 1) == (cost[head] > 1), head
        assert ("does without it" in rest) == (cost[head] < 0.1), head


def test_the_detectors_name_the_same_heads(demo: tuple[str, Path]) -> None:
    for name in ("previous", "induction"):
        line = next(line for line in demo[0].splitlines() if re.match(rf" +{name} ", line))
        assert set(re.findall(r"L\dH\d", line)) == classes(name)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def damages(run: Path) -> dict[str, list[float]]:
    """What every criterion costs at the budget, in nats; the random orders one after another."""
    before: dict[tuple[str, str], float] = {}
    after: dict[tuple[str, str], float] = {}
    for row in rows(run / "curve.csv"):
        order = (row["criterion"], row["seed"])
        before.setdefault(order, float(row["loss"]))
        after[order] = float(row["loss"])
    found = defaultdict(list)
    for order, loss in after.items():
        found[order[0]].append(loss - before[order])
    return found


def test_half_of_the_heads_go_by_every_criterion(demo: tuple[str, Path]) -> None:
    removed = defaultdict(set)
    for row in rows(demo[1] / "language/ranking.csv"):
        if row["removed"] == "yes":
            removed[row["criterion"], row["seed"]].add(row["head"])
    assert {criterion for criterion, _ in removed} == {
        *("variation", "energy", "information", "redundancy", "pk", "norm", "alone", "greedy", "random"),
    }
    assert {len(heads) for heads in removed.values()} == {16}


def orders(run: Path) -> dict[str, list[float]]:
    """Damage of the random orders at the budget: plain ones under "", those by layer under the criterion."""
    found = defaultdict(list)
    for row in rows(run / "orders.csv"):
        assert row["control"] == ("random-by-layer" if row["criterion"] else "random")
        found[row["criterion"]].append(float(row["damage"]))
    return found


TRIED = 8  # criteria


def corrected_p(damage: float, others: list[float]) -> float:
    """Sequential: ten orders that are as good end the drawing."""
    as_good = [place for place, other in enumerate(others, 1) if other <= damage]
    p = 10 / as_good[9] if len(as_good) > 9 else (1 + len(as_good)) / (1 + len(others))
    return min(1, TRIED * p)


def test_the_verdict_of_pruning_is_what_the_tables_say(demo: tuple[str, Path]) -> None:
    run = demo[1] / "language"
    cost = damages(run)
    random = orders(run)
    assert len(cost["random"]) == 20 and len(random[""]) == 160
    names = ("variation", "energy", "information", "redundancy", "pk", "norm", "alone", "greedy")
    summary = json.loads((run / "prune.json").read_text())
    verdict = json.loads((run / "manifest.json").read_text())["commands"]["prune"]["verdict"]
    winners = set()
    for one in summary["rankings"]:
        name = one["criterion"]
        if name == "random":
            continue
        p = [corrected_p(one["damage"], random[key]) for key in ("", name)]
        assert [one[key]["p_corrected"] for key in ("random", "random_by_layer")] == pytest.approx(p)
        if max(p) < 0.05:
            winners.add(name)
    assert "greedy" in winners
    assert cost["energy"][0] < min(random[""])
    told = re.match(r"(.*) beats? random orders, of 8 tried \((.*)\): ", verdict[0])
    assert told and set(re.findall(r"\w+", told[1])) - {"and"} == winners
    assert set(re.findall(r"\w+", told[2])) - {"and"} == set(names)
    assert verdict[0].endswith("p is corrected for 8 criteria.")
    for sentence in verdict:
        assert sentence in demo[0]
    assert "structure beats chance" not in demo[0].lower()


def test_the_documents_have_the_numbers(demo: tuple[str, Path]) -> None:
    """Of what goes by weights alone: rounding may change which heads the other criteria choose."""
    cost = damages(demo[1] / "language")
    random = orders(demo[1] / "language")[""]
    measured = (cost["pk"][0], min(random), max(random))
    text = (ROOT / "docs/prune.md").read_text().partition("`models/demo`, as in")[2]
    told = re.search(r"^\| `pk` \| ([\d.]+) .*?^\| `random` \| ([\d.]+) to ([\d.]+)", text, re.MULTILINE | re.DOTALL)
    assert told and [float(number) for number in told.groups()] == pytest.approx(measured, abs=0.00501)


def test_halves_are_alike_and_words_unlike_pictures(demo: tuple[str, Path]) -> None:
    verdicts = defaultdict(list)
    for row in rows(demo[1] / "language/comparison.csv"):
        if row["verdict"] != "untested":
            verdicts[row["a"], row["b"]].append(row["verdict"] == "differs")
    halves = verdicts.pop(("first-half", "second-half"))
    assert len(halves) == 17 and not any(halves)
    distance = dict(re.findall(r"^(\S+ and \S+): .*; distance ([\d.]+)\.$", demo[0], re.MULTILINE))
    assert "first-half and second-half: no difference beyond the spread over inputs in 17 features" in demo[0]
    assert set(verdicts) == {("first-half", "vision"), ("second-half", "vision")}
    for (a, b), differs in verdicts.items():
        assert sum(differs) >= 3
        assert f"{a} and {b}: {sum(differs)} of {len(differs)} features differ beyond the spread" in demo[0]
        assert float(distance[f"{a} and {b}"]) > 2 * float(distance["first-half and second-half"])


def page_data(page: Path) -> dict:
    html = page.read_text()
    blocks = re.findall(r'<script type="application/octet-stream" id="block-\d+">([^<]*)</script>', html)
    (main,) = re.findall(r'<meta name="headscope-main" content="(\d+)">', html)
    return json.loads(zlib.decompress(base64.b64decode(blocks[int(main)])))


def test_the_page_shows_what_was_told(demo: tuple[str, Path]) -> None:
    data = page_data(demo[1] / "language.html")
    assert data["prune"]["said"] in demo[0]
    assert data["prune"]["measured_on"] == 24 and data["prune"]["held_out"]
    assert [run["name"] for run in data["comparison"]["runs"]] == ["first-half", "second-half", "vision"]
    assert {axis["axis"] for axis in data["comparison"]["axes"]} == {"head", "query", "key"}


def test_every_command_left_its_files(demo: tuple[str, Path]) -> None:
    for run in ("language", "vision"):
        commands = json.loads((demo[1] / run / "manifest.json").read_text())["commands"]
        assert {"relate", "detect", "capture", "organize", "softmax"} <= set(commands)
    commands = json.loads((demo[1] / "language/manifest.json").read_text())["commands"]
    assert {"prune", "compare"} <= set(commands)
