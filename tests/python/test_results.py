"""Results as objects: tables, arrays, graphs, folders."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

import headscope
from conftest import IDS, ROOT
from headscope import _html


def test_a_model_tells_its_heads_and_weights(model: headscope.Model) -> None:
    assert model.family == "gpt2"
    assert model.heads[:2] == ["L0H0", "L0H1"]
    assert len(model.heads) == 16
    q = model.weights(0, "Q")
    assert q.shape == (8, 96, 12)
    assert q.dtype == np.float32
    raw = model.weights(0, "O", weights="raw")
    assert not np.array_equal(raw, model.weights(0, "O"))
    assert model.readiness()["relate"][0]
    assert len(model.fingerprint()) == 16
    assert "8 heads" in repr(model)
    assert "gpt2" in model._repr_html_()


def test_raw_weights_are_those_of_the_file(model: headscope.Model, model_path: str) -> None:
    import struct

    data = Path(model_path, "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    entry = header["transformer.h.1.attn.c_proj.weight"]
    begin, end = entry["data_offsets"]
    stored = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype=np.float32).reshape(entry["shape"])
    expected = stored.reshape(8, 12, 96).transpose(0, 2, 1)
    np.testing.assert_array_equal(model.weights(1, "O", weights="raw"), expected)


def test_arrays_come_without_a_copy_and_outlive_the_result(model: headscope.Model) -> None:
    relation = headscope.relate(model)
    first, second = relation._files.array("affinity/pk_OQ.npy"), relation._files.array("affinity/pk_OQ.npy")
    assert np.shares_memory(first, second)
    assert not first.flags.writeable and not first.flags.owndata
    before = first.copy()
    del relation, second
    weights = model.weights(0, "Q")
    assert not weights.flags.owndata
    np.testing.assert_array_equal(first, before)


def test_tables_become_frames_and_graphs(model: headscope.Model) -> None:
    relation = headscope.relate(model, top=7)
    frame = relation.to_pandas()
    assert list(frame.columns) == relation.edges.names
    assert len(frame) == 21
    assert frame["score"].dtype == np.float32
    assert frame["rank"].dtype == np.int64
    graph = relation.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    assert graph.number_of_edges() == 21
    assert graph.number_of_nodes() == 16
    for row in relation.edges:
        found = graph.get_edge_data(row["source"], row["target"]).values()
        assert any(edge["pair"] == row["pair"] for edge in found)
    tree = relation.tree
    assert sorted(tree.order) == list(range(16))
    assert networkx.is_arborescence(tree.to_networkx())
    assert "score" in repr(relation.edges)
    assert relation.edges.row(0)["rank"] == 1
    with pytest.raises(KeyError, match="no column 'x'"):
        relation.edges["x"]


@pytest.mark.parametrize("metric", ["pk", "grassmann", "binet-cauchy"])
def test_the_graph_is_that_of_the_file(model: headscope.Model, tmp_path: Path, metric: str) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text('{"classes": {"reader": ["L1H0", "L1H3"], "writer": ["L0H2", "L1H3"]}}')
    relation = headscope.relate(model, metric=metric, pairs="all", labels=labels, run=tmp_path / "run")
    graph = relation.to_networkx()
    stored: Any = networkx.read_graphml(tmp_path / "run/graph.graphml", force_multigraph=True)
    assert dict(graph.nodes(data=True)) == dict(stored.nodes(data=True))
    assert list(graph.nodes) == list(stored.nodes)
    assert sorted(graph.edges(keys=True, data=True)) == sorted(stored.edges(keys=True, data=True))
    arrays = relation.graph
    assert arrays.nodes == list(relation.heads["head"])
    assert arrays.source.dtype == arrays.target.dtype == np.int64
    assert len(arrays.pair) == len(arrays.score) == len(arrays.z) == len(arrays.weight) == len(relation.edges)
    assert [arrays.nodes[i] for i in arrays.source] == list(relation.edges["source"])
    assert graph.nodes["L1H3"]["classes"] == "reader;writer" and "classes" not in graph.nodes["L0H0"]


def test_tables_have_the_same_types_in_memory_and_in_a_folder(model: headscope.Model, tmp_path: Path) -> None:
    held: list[headscope.Result] = [
        headscope.relate(model, pairs="all"),
        headscope.detect(model, sequences=2),
        headscope.prune(model, ids=IDS, seeds=2, write="none"),
        headscope.patch(model, ids=IDS, top=1, draws=2),
    ]
    kinds = set()
    for result in held:
        result.save(tmp_path / result.command)
        stored = type(result).open(tmp_path / result.command)
        for name in (name for name in result.files if name.endswith(".csv")):
            mine, theirs = result.table(name), stored.table(name)
            assert mine.names == theirs.names and len(mine) == len(theirs)
            for column in mine.names:
                assert mine[column].dtype == theirs[column].dtype, (name, column)
                np.testing.assert_array_equal(mine[column], theirs[column])
                kinds.add(str(mine[column].dtype))
    assert kinds == {"object", "int64", "float32", "float64", "bool"}
    relation = held[0]
    assert isinstance(relation, headscope.Relation)
    assert relation.heads["rank_Q"].dtype == np.float64  # an integer, or missing
    assert relation.informativeness is not None
    assert relation.informativeness["smoothed"].dtype == np.bool_
    assert all(isinstance(text, str) for text in relation.edges["pair"])


def test_columns_come_without_a_copy_and_outlive_the_result(model: headscope.Model) -> None:
    relation = headscope.relate(model)
    rank = relation.edges["rank"]
    assert not rank.flags.owndata and not rank.flags.writeable
    before = rank.copy()
    del relation
    np.testing.assert_array_equal(rank, before)


def test_folders_of_the_first_version_are_read(model: headscope.Model, tmp_path: Path) -> None:
    """There, the column index of heads.csv was called number."""
    headscope.relate(model).save(tmp_path)
    heads = tmp_path / "heads.csv"
    heads.write_text(heads.read_text().replace("index", "number", 1))
    assert list(headscope.Relation.open(tmp_path).heads["index"]) == list(headscope.relate(model).heads["index"])
    manifest = tmp_path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema": 2', '"schema": 99'))
    with pytest.raises(headscope.UnsupportedError, match="newer headscope"):
        headscope.open(tmp_path)


def test_scores_of_edges_are_the_affinities(model: headscope.Model) -> None:
    relation = headscope.relate(model, pairs=["OQ"])
    names = list(relation.heads["head"])
    for row in relation.edges:
        value = relation.affinity("OQ")[names.index(row["source"]), names.index(row["target"])]
        assert np.float32(row["score"]) == value


def test_a_patching_has_edges_a_screen_and_a_circuit(model: headscope.Model, tmp_path: Path) -> None:
    patching = headscope.patch(model, ids=[IDS, IDS[3:] + IDS[:3]], loss_from=16, pairs="OK", top=8, draws=8,
                               run=tmp_path)
    assert list(patching.screen) == ["OK"] and patching.screen["OK"].shape == (16, 16)
    place = {name: i for i, name in enumerate(model.heads)}
    for edge in patching.edges:
        assert edge["local"] == pytest.approx(patching.screen["OK"][place[edge["source"]], place[edge["target"]]])
    chosen = [edge for edge in patching.edges if edge["kind"] != "control"]
    assert patching.agreement["chosen"].sum() == len(chosen)
    assert patching.before == patching.circuit["before"] > 0
    kept = [(edge["source"], edge["target"]) for edge in chosen if edge["in_circuit"]]
    graph = patching.to_networkx()
    stored = networkx.read_graphml(tmp_path / "circuit.graphml", force_multigraph=True)
    assert kept and sorted((source, target) for source, target in graph.edges()) == sorted(kept)
    assert dict(graph.nodes(data=True)) == dict(stored.nodes(data=True))
    for source, target, stated in stored.edges(data=True):
        assert graph[source][target][0] == pytest.approx({key: stated[key] for key in stated if key != "id"})
    assert len(patching.to_pandas()) == len(patching.edges)
    opened = headscope.open(tmp_path).patch
    assert opened is not None and opened.verdict == patching.verdict and opened.circuit == patching.circuit
    assert "<iframe" in patching._repr_html_()
    # Without cuts there is only the screen.
    screened = headscope.patch(model, ids=IDS, screen_only=True, draws=2)
    assert list(screened.screen) == ["OQ", "OK", "OV"] and screened.kinds == []
    assert "Nothing was cut" in screened.verdict[0]
    assert "Nothing was cut" in html.unescape(screened._repr_html_())
    with pytest.raises(headscope.ArgumentError, match="no edge was cut"):
        screened.edges  # noqa: B018


def test_patch_cuts_edges_to_components(model: headscope.Model, tmp_path: Path) -> None:
    with pytest.raises(headscope.UnsupportedError, match="the model has no MLPs"):
        headscope.patch(model, ids=IDS, nodes="mlp")
    model = headscope.load(ROOT / "models/demo")
    patching = headscope.patch(model, ids=IDS, loss_from=16, nodes=["heads", "mlp", "unembedding"], pairs="OK", top=3,
                               draws=4, run=tmp_path)
    cuts = patching.component_edges
    assert {edge["pair"] for edge in cuts} == {"OM", "OU"}
    assert list(patching.component_agreement["pair"]) == ["OM", "OU"]
    assert len(patching.edges) > 0
    given = [(edge["pair"], edge["source"], edge["target"]) for edge in cuts]
    again = headscope.patch(model, ids=IDS, loss_from=16, edges=given, draws=4)
    np.testing.assert_allclose(again.component_edges["effect"], cuts["effect"], atol=1e-6)
    np.testing.assert_array_equal(again.component_edges["overlap"], cuts["overlap"])
    # All given edges are in the circuit, because there are no controls.
    graph = again.to_networkx()
    stored = networkx.parse_graphml(again._text("circuit.graphml"), force_multigraph=True)
    assert sorted(graph.nodes) == sorted(stored.nodes) and graph.nodes["U"]["kind"] == "unembedding"
    assert graph.number_of_edges() == len(given)
    with pytest.raises(headscope.ArgumentError, match=r"no edge was cut that patch\.csv would have"):
        again.edges  # noqa: B018


def test_patch_cuts_the_edges_that_it_is_given(model: headscope.Model, tmp_path: Path) -> None:
    chosen = headscope.patch(model, ids=IDS, loss_from=16, pairs=["OQ", "OK"], top=1, draws=4, controls=0).edges
    triples = [(edge["pair"], edge["source"], edge["target"]) for edge in chosen]
    rows = [",".join(triple) for triple in [("pair", "source", "target"), *triples]]
    (tmp_path / "edges.csv").write_text("\n".join(rows) + "\n")
    columns = {name: list(chosen[name]) for name in ("pair", "source", "target")}
    structured = np.array(triples, dtype=[(name, "U8") for name in columns])
    given: list[Any] = [tmp_path / "edges.csv", chosen, triples, iter(triples), np.array(triples), structured,
                        columns, chosen.to_pandas()]
    for edges in given:
        cut = headscope.patch(model, ids=IDS, loss_from=16, edges=edges, draws=4).edges
        assert [(edge["pair"], edge["source"], edge["target"]) for edge in cut] == triples
        assert set(cut["kind"]) == {"given"}
        np.testing.assert_allclose(cut["effect"], chosen["effect"], atol=1e-6)
    # One result cannot replace that of other edges.
    run = tmp_path / "run"
    headscope.patch(model, ids=IDS, edges=triples[:1], draws=4, run=run)
    with pytest.raises(headscope.Error, match="force"):
        headscope.patch(model, ids=IDS, edges=triples[1:], draws=4, run=run)


def test_what_is_saved_can_be_opened_and_saved_again(model: headscope.Model, captured: headscope.Capture,
                                                     tmp_path: Path) -> None:
    relation = headscope.relate(model)
    relation.save(tmp_path / "one")
    captured.save(tmp_path / "one")
    headscope.organize(captured).save(tmp_path / "one")
    run = headscope.open(tmp_path / "one")
    assert run.commands == ["relate", "capture", "organize"]
    assert run.relate is not None and run.capture is not None and run.organize is not None
    assert run.softmax is None
    np.testing.assert_array_equal(run.relate.affinity(), relation.affinity())
    np.testing.assert_array_equal(run.capture.pattern, captured.pattern)
    assert isinstance(run.capture.pattern, np.memmap)
    assert run.capture.tokens == captured.tokens
    run.relate.save(tmp_path / "two")
    again = headscope.Relation.open(tmp_path / "two")
    for name in relation.files:
        assert again._files.content(name) == relation._files.content(name)
    with pytest.raises(headscope.ArgumentError, match="holds no result of 'detect'"):
        headscope.Detection.open(tmp_path / "two")
    with pytest.raises(headscope.ArgumentError, match="choose another folder, or force to replace it"):
        headscope.relate(model, top=3).save(tmp_path / "two")
    headscope.relate(model, top=3).save(tmp_path / "two", force=True)


def test_components_are_tables_and_arrays(model_path: str) -> None:
    model = headscope.load(Path(model_path).parent / "demo")  # the MLPs of the other model are zero
    plain = headscope.relate(model)
    assert plain.components is None and plain.component_edges is None and plain.neurons is None and not plain.overlaps
    relation = headscope.relate(model, nodes=["heads", "mlp"], neurons=2)
    assert relation.components is not None and relation.component_edges is not None and relation.neurons is not None
    kinds, reads = relation.components["kind"], relation.components["reads"]
    mlps = sum(kind == "mlp" and not reading for kind, reading in zip(kinds, reads, strict=True))
    assert relation.overlaps["overlap_OM"].shape[1] == mlps
    assert "OM" in set(relation.component_edges["pair"])
    assert list(relation.edges["score"]) == list(plain.edges["score"])


def test_sensitivity_and_lengths_are_tables(model: headscope.Model) -> None:
    assert headscope.relate(model).sensitivity is None
    relation = headscope.relate(model, sensitivity=True)
    assert relation.sensitivity is not None
    assert len(relation.sensitivity["spearman"]) == 7 * 3
    assert relation.sensitivity["gain"].dtype == np.bool_
    assert relation.informativeness is not None
    assert relation.informativeness["at_ceiling"].dtype == np.bool_
    detection = headscope.detect(model, sequences=4)
    assert detection.lengths is not None
    assert sorted(set(detection.lengths["length"])) == [32, 64]
    for detector in detection.detectors:
        for head in detection.heads(detector):
            row = list(detection.scores["head"]).index(head)
            assert detection.scores[detector][row] >= 0.4 and detection.scores[f"{detector}_second"][row] >= 0.4


def test_capture_describes_its_maps(captured: headscope.Capture) -> None:
    assert captured.pattern is not None and captured.scores is not None and captured.output is not None
    assert captured.pattern.shape == (16, 32, 32)
    assert captured.output.shape == (32, 64)
    assert captured.heads[-1] == "L1H7"
    assert len(captured.tokens) == 32
    np.testing.assert_allclose(captured.pattern.sum(axis=2), 1, atol=1e-5)
    assert captured.attention is not None and len(captured.attention) == 16
    np.testing.assert_array_equal(captured.map("L1H0"), captured.pattern[8])


def test_capture_into_a_folder_is_mapped_from_there(model: headscope.Model, captured: headscope.Capture,
                                                    tmp_path: Path) -> None:
    there = headscope.capture(model, ids=IDS, run=tmp_path, what=["pattern"], heads="L1H3", dtype="f16")
    assert isinstance(there.pattern, np.memmap)
    assert there.pattern.dtype == np.float16
    assert there.scores is None
    assert captured.pattern is not None
    np.testing.assert_allclose(there.pattern[0], captured.pattern[11], atol=1e-3)


def test_organization_and_invariance(captured: headscope.Capture) -> None:
    organization = headscope.organize(captured, iterations=2)
    assert organization.trees["query"].n == 32
    assert organization.embedding["head"].shape[0] == 16
    assert organization.haar.shape == (16, 32, 32)
    assert sorted(organization.order["key"]) == list(range(32))
    assert len(organization.convergence) == 2
    assert organization.trees["head"].names == captured.heads
    invariance = headscope.softmax(captured, heads="L0H0", iterations=2)
    assert list(invariance.heads["head"]) == ["L0H0"]
    with pytest.raises(headscope.ArgumentError, match="were not kept"):
        invariance.paraproduct("L1H0")


def test_organized_maps_are_at_hand_only_where_they_are_those(captured: headscope.Capture, tmp_path: Path) -> None:
    assert headscope.organize(captured, skip_first=1, iterations=1).maps is None
    captured.save(tmp_path)
    headscope.organize(tmp_path, what="scores", iterations=1, run=tmp_path)
    run = headscope.open(tmp_path)
    assert run.organize is not None
    np.testing.assert_array_equal(run.organize.maps, captured.scores)
    assert "map" in run.organize.kinds
    assert captured.pattern is not None
    headscope.organize(captured.pattern[::-1], iterations=1).save(tmp_path, force=True)
    elsewhere = headscope.open(tmp_path).organize
    assert elsewhere is not None and elsewhere.maps is None


def test_notebooks_show_the_report(model: headscope.Model, captured: headscope.Capture, tmp_path: Path) -> None:
    relation = headscope.relate(model)
    for shown in (relation._repr_html_(), headscope.organize(captured, iterations=1)._repr_html_()):
        assert shown.startswith('<iframe srcdoc="')
        page = html.unescape(shown.removeprefix('<iframe srcdoc="').split('"', 1)[0])
        assert page.startswith("<!doctype html><!-- headscope report -->")
        assert page.rstrip().endswith("</html>")
    relation.save(tmp_path / "run")
    headscope.report(tmp_path / "run", tmp_path / "page.html")
    inside = headscope.open(tmp_path / "run")._repr_html_()
    page = html.unescape(inside.removeprefix('<iframe srcdoc="').split('"', 1)[0])
    assert page.replace('<base href="about:srcdoc">', "") == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<table>" in relation.edges._repr_html_()
    pruned = headscope.prune(model, ids=IDS, criteria="norm", write="none")._repr_html_()
    assert "<svg" in pruned and "heads removed" in pruned


def test_what_is_too_large_is_not_shown_whole(model: headscope.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope import _html

    relation = headscope.relate(model)
    for limit in ("_LARGEST_PAGE", "_LARGEST_RESULT"):
        with monkeypatch.context() as patch:
            patch.setattr(_html, limit, 1000)
            shown = relation._repr_html_()
            assert "<svg" in shown and "<table>" in shown and "<iframe" not in shown


def test_set_threads_changes_no_result(model: headscope.Model) -> None:
    try:
        headscope.set_threads(1)
        assert headscope.threads() == 1
        one = headscope.relate(model)
        headscope.set_threads(3)
        three = headscope.relate(model)
    finally:
        headscope.set_threads(0)
    assert all(one._files.content(name) == three._files.content(name) for name in one.files)


def test_a_verdict_is_the_same_in_memory_and_in_a_folder(model: headscope.Model, tmp_path: Path) -> None:
    relation = headscope.relate(model)
    relation.save(tmp_path / "run")
    opened = headscope.Relation.open(tmp_path / "run")
    assert opened.verdict == relation.verdict
    assert all(isinstance(sentence, str) for sentence in relation.verdict)
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    manifest["commands"]["relate"]["verdict"] = ["No wiring beyond chance", "<b> is escaped"]
    (tmp_path / "run/manifest.json").write_text(json.dumps(manifest))
    stated = headscope.Relation.open(tmp_path / "run")
    assert stated.verdict == ["No wiring beyond chance", "<b> is escaped"]
    assert repr(stated).startswith("No wiring beyond chance\n<b> is escaped\n<headscope relate")
    static = _html._static(stated)
    assert "<b>No wiring beyond chance</b>" in static and "&lt;b&gt; is escaped" in static
