"""Every picture is drawn without a screen and saved as SVG and PDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection

import headscope
from conftest import IDS, ROOT


@pytest.fixture(scope="module")
def results(model: headscope.Model, captured: headscope.Capture) -> list[headscope.Result]:
    return [
        headscope.relate(model, pairs="all", top=5),
        captured,
        headscope.detect(model, sequences=2),
        headscope.organize(captured, iterations=1),
        headscope.softmax(captured, heads="L0H0,L1H1", iterations=1),
        headscope.prune(model, ids=IDS, criteria="energy,pk,norm,random", seeds=3, write="none"),
        headscope.compare({"one": captured, "other": captured}, iterations=1, draws=2),
        headscope.patch(model, ids=IDS, loss_from=16, top=20, draws=4),
    ]


def test_every_kind(results: list[headscope.Result], tmp_path: Path) -> None:
    for result in results:
        assert result.kinds
        for kind in result.kinds:
            axes = result.plot(kind)
            assert isinstance(axes, Axes)
            assert axes.get_title() or axes.get_xlabel()
            figure = axes.get_figure(root=True)
            assert figure is not None
            for suffix in ("svg", "pdf"):
                file = tmp_path / f"{result.command}_{kind}.{suffix}"
                figure.savefig(file)
                assert file.stat().st_size > 1000
            pyplot.close("all")


def test_on_axes_that_are_there(results: list[headscope.Result]) -> None:
    figure, (left, right) = pyplot.subplots(1, 2)
    relation, captured = results[0], results[1]
    assert relation.plot("matrix", ax=left, pair="OK") is left
    assert captured.plot(ax=right, head="L1H3", what="scores") is right
    assert right.get_title() == "L1H3, scores"
    assert left.get_title().startswith("pk, OK: ")
    pyplot.close(figure)
    assert isinstance(results[0], headscope.Relation)
    results[0].plot("informativeness", pair="OV")
    results[0].tree.plot()
    results[3].plot("embedding", axis="query")
    results[3].plot("decay", name="L0H0")
    pyplot.close("all")


def _collections(relation: headscope.Relation) -> dict[str, float]:
    """The standings in the legend of the wiring, with the widths of their lines."""
    axes = relation.plot("wiring")
    legend = axes.get_legend()
    assert legend is not None
    names = [text.get_text() for text in legend.get_texts()]
    widths = {name: line.get_linewidth() for name, line in zip(names, legend.get_lines(), strict=True)}
    pyplot.close("all")
    return {name: width for name, width in widths.items() if len(name) > 2}


def test_the_wiring_tells_chance_from_structure(results: list[headscope.Result], tmp_path: Path) -> None:
    relation = results[0]
    assert isinstance(relation, headscope.Relation)
    known = "beyond_chance" in relation.edges
    standings = _collections(relation)
    if known:
        assert standings["stands out"] > standings.get("beyond chance", 0)
        assert "pairs beyond chance" in relation.plot("wiring").get_title()
        pyplot.close("all")
    # Edges of a folder without flags are neither.
    relation.save(tmp_path / "old")
    lines = (tmp_path / "old/edges.csv").read_text().splitlines()
    header = lines[0].split(",")
    kept = [i for i, name in enumerate(header) if name not in ("beyond_chance", "stands_out")]
    cut = ["\n".join([",".join(line.split(",")[i] for i in kept) for line in lines]), ""]
    (tmp_path / "old/edges.csv").write_text("\n".join(cut))
    manifest = (tmp_path / "old/manifest.json").read_text().replace('"wiring.csv"', '"no_wiring.csv"')
    (tmp_path / "old/manifest.json").write_text(manifest)
    old = headscope.Relation.open(tmp_path / "old")
    assert list(_collections(old)) == ["significance unknown"]
    assert old.plot("wiring").get_title() == "Wiring: significance unknown"
    pyplot.close("all")


def test_the_wiring_keeps_kv_heads_apart() -> None:
    relation = headscope.relate(ROOT / "tests/golden/checkpoints/llama", tokens_for="none", top=8)
    kinds = dict(zip(relation.heads["head"], relation.heads["kind"], strict=True))
    assert set(kinds.values()) == {"query", "kv"}
    axes = relation.plot("wiring")
    dots = {str(found.get_label()): np.asarray(found.get_offsets()) for found in axes.collections
            if isinstance(found, PathCollection)}
    queries, keys = dots["query head"], dots["KV head"]
    # Four query heads share two KV heads: no two heads are in one place, and a KV head is between its queries.
    assert len(np.unique(np.concatenate([queries, keys]), axis=0)) == len(kinds)
    assert {float(y) for y in keys[:, 1]} == {0.5, 2.5}
    lines = [found for found in axes.collections if isinstance(found, LineCollection)]
    ends = np.array([np.asarray(path.vertices)[-1] for found in lines for path in found.get_paths()])
    begins = np.array([np.asarray(path.vertices)[0] for found in lines for path in found.get_paths()])
    assert len(ends) == len(relation.edges)

    def are(points: Any, heads: Any) -> Any:
        return np.isclose(points[:, None], heads[None]).all(axis=2).any(axis=1)

    pairs = relation.edges["pair"]
    assert are(begins, queries).all()
    assert are(ends, queries).sum() == np.sum(pairs == "OQ")
    assert are(ends, keys).sum() == np.sum(pairs != "OQ")
    legend = axes.get_legend()
    assert legend is not None
    assert {"query head", "KV head"} <= {text.get_text() for text in legend.get_texts()}
    pyplot.close("all")


def test_effects_of_cuts(results: list[headscope.Result], model: headscope.Model) -> None:
    patching = results[7]
    assert isinstance(patching, headscope.Patching) and patching.kinds == ["effects"]
    axes = patching.plot()
    assert axes.get_yscale() == "log"
    assert axes.get_title().endswith(f": {len(patching.circuit['edges'])} in the circuit")
    circuit = [f"{edge['source']} > {edge['target']}" for edge in patching.circuit["edges"]]
    assert circuit and sorted(text.get_text() for text in axes.texts) == sorted(circuit)
    names = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert names == ["random edges", "OQ", "OK", "OV"]
    assert len(patching.plot(pairs=["OK"]).lines) == 1  # the level
    with pytest.raises(headscope.ArgumentError, match="no edge of 'QK' was cut, only of OQ, OK, OV"):
        patching.plot(pairs=["QK"])
    few = headscope.patch(model, ids=IDS, loss_from=16, pairs="OQ", top=2, draws=4)
    assert few.verdict[0].startswith(("No effect", "Too few"))
    axes = few.plot()
    assert axes.get_title().endswith(": none beyond that of random edges") and not axes.texts
    pyplot.close("all")


def test_curves_of_pruning_and_comparison(results: list[headscope.Result]) -> None:
    pruning, comparison = results[5], results[6]
    assert pruning.kinds == ["curve", "ranking"]
    axes = pruning.plot("curve", measure="kl")
    names = [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert names == ["energy", "pk", "norm", "random"]
    for line in axes.get_lines():
        assert line.get_ydata()[0] == 0  # type: ignore[index]
    pruning.plot("ranking", criterion="pk")
    with pytest.raises(headscope.ArgumentError, match="measure: found 'taste', expected one of loss"):
        pruning.plot(measure="taste")
    with pytest.raises(headscope.ArgumentError, match="criterion 'greedy' was not requested"):
        pruning.plot("ranking", criterion="greedy")
    assert comparison.kinds == ["distances", "decay"]
    comparison.plot("decay", feature="head spectrum")
    with pytest.raises(headscope.ArgumentError, match="is not a curve"):
        comparison.plot("decay", feature="l1")
    pyplot.close("all")
