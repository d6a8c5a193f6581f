"""Results of the functions, one class per command."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._arrays import float_array
from ._enums import Metric
from ._errors import ArgumentError
from ._files import Files, Folder
from ._graph import HeadGraph, graph_of
from ._result import Result
from ._tables import Table
from ._trees import Tree

_T = TypeVar("_T", bound=Result)


class Relation(Result):
    """Which heads talk to which (``relate``)."""

    command = "relate"

    @cached_property
    def heads(self) -> Table:
        """The heads that were compared."""
        return self.table("heads.csv")

    @cached_property
    def affinities(self) -> dict[str, NDArray[np.float32]]:
        """By ``metric_PAIR``, e.g. ``pk_OQ``: [source head, target head]."""
        names = [name for name in self.files if name.startswith("affinity/")]
        return {name[len("affinity/"):-len(".npy")]: self.array(name) for name in names}

    def affinity(self, pair: str = "OQ", metric: Metric | str = "pk") -> NDArray[np.float32]:
        """One of ``affinities``."""
        found = self.affinities.get(f"{metric!s}_{pair}")
        if found is None:
            raise ArgumentError(f"no affinity {metric}_{pair}, only {', '.join(self.affinities)}")
        return found

    @cached_property
    def edges(self) -> Table:
        """The edges that were kept; within a pair of roles those beyond chance first, then the closest first."""
        return self.table("edges.csv")

    @cached_property
    def wiring(self) -> Table:
        """How many pairs of heads are beyond chance and how many stand out, per pair of roles and in all."""
        return self.table("wiring.csv")

    @cached_property
    def hubs(self) -> Table:
        """Heads by how far the sum of z over their pairs exceeds what their layers explain, with reasons in words."""
        return self.table("hubs.csv")

    @cached_property
    def components(self) -> Table | None:
        """Heads and other components, once per way of writing or reading, if ``nodes`` had more than heads."""
        return self._optional("components.csv")

    @cached_property
    def component_edges(self) -> Table | None:
        """The kept edges between components, by overlap."""
        return self._optional("component_edges.csv")

    @cached_property
    def component_wiring(self) -> Table | None:
        """How many pairs of components are beyond chance and how many stand out, per pair of roles and in all."""
        return self._optional("component_wiring.csv")

    @cached_property
    def component_hubs(self) -> Table | None:
        """Components by how far the sum of z over their pairs exceeds what their layers explain."""
        return self._optional("component_hubs.csv")

    @cached_property
    def overlaps(self) -> dict[str, NDArray[np.float32]]:
        """By ``score_PAIR``, e.g. ``overlap_OM`` or ``pk_OM``: [source component, target component]."""
        names = [name for name in self.files if name.startswith("components/")]
        return {name[len("components/"):-len(".npy")]: self.array(name) for name in names}

    @cached_property
    def neurons(self) -> Table | None:
        """The neurons most in a head's subspaces, if ``neurons`` was given."""
        return self._optional("neurons.csv")

    @cached_property
    def neuron_tokens(self) -> Table | None:
        """The tokens closest to the vectors of these neurons, if the model has a vocabulary."""
        return self._optional("neuron_tokens.csv")

    @cached_property
    def tree(self) -> Tree:
        """Nested communities of heads."""
        return self._tree("tree.json")

    @cached_property
    def informativeness(self) -> Table | None:
        """KL(random || observed) per pair of roles; only for the metric ``pk``."""
        return self._optional("informativeness.csv")

    @cached_property
    def sensitivity(self) -> Table | None:
        """Agreement with other weight processings per pair of roles, if ``sensitivity=True`` was given."""
        return self._optional("sensitivity.csv")

    @cached_property
    def labels(self) -> Table | None:
        """How well each metric finds pairs of labeled heads, if labels were given."""
        return self._optional("labels.csv")

    @cached_property
    def tokens(self) -> Table | None:
        """The tokens closest to a head's subspaces, if the model has a vocabulary."""
        return self._optional("tokens.csv")

    def _main_table(self) -> Table:
        return self.edges

    @cached_property
    def graph(self) -> HeadGraph:
        """Heads and kept edges as arrays."""
        metric = next(iter(self.affinities)).rpartition("_")[0]
        return graph_of(self.heads, self.edges, self.hubs, metric)

    def to_networkx(self) -> Any:
        """The head graph as a ``networkx.MultiDiGraph``, with one edge per kept pair of roles."""
        return self.graph.to_networkx()

    def _plots(self) -> Mapping[str, str]:
        drawn = {"wiring": "wiring", "matrix": "affinity_matrix", "tree": "relation_tree"}
        if self.informativeness is not None:
            drawn["informativeness"] = "informativeness"
        return drawn


class Capture(Result):
    """Attention maps of a model (``capture``). The attributes describe the first input; ``inputs`` has all inputs.

    A model with an encoder and a decoder has three maps per input, in ``blocks``.
    """

    command = "capture"
    _blocks: ClassVar[tuple[str, ...]] = ("encoder", "decoder", "cross")
    _state: ClassVar[tuple[str, ...]] = ("_files", "summary", "_folder")

    def __init__(self, files: Files, summary: str = "", folder: str = "") -> None:
        super().__init__(files, summary)
        self._folder = folder

    def _map(self, name: str) -> NDArray[Any] | None:
        file = self._folder + name
        return self.array(file) if file in self.files else None

    @cached_property
    def pattern(self) -> NDArray[np.float32] | None:
        """[head, query, key] after the softmax, if it was requested."""
        return self._map("pattern.npy")

    @cached_property
    def scores(self) -> NDArray[np.float32] | None:
        """[head, query, key] before mask and softmax, if they were requested."""
        return self._map("scores.npy")

    @cached_property
    def output(self) -> NDArray[np.float32] | None:
        """Logits, or the last hidden state."""
        return self._map("output.npy")

    @cached_property
    def description(self) -> dict[str, Any]:
        """tokens.json: kind of input, mask, heads, tokens. A model with several blocks has one per block."""
        self._expect_one_block()
        described: dict[str, Any] = json.loads(self._text(self._folder + "tokens.json"))
        return described

    @property
    def heads(self) -> list[str]:
        """Names along the first axis of the maps."""
        return list(self.description["heads"])

    @property
    def tokens(self) -> list[str]:
        """Texts of the tokens."""
        return [token["text"] for token in self.description["tokens"]]

    @cached_property
    def attention(self) -> Table | None:
        """Where every head looks, on average over all inputs."""
        return self._optional("attention.csv")

    @cached_property
    def effect(self) -> Table | None:
        """What leaving out the ablated heads does to the output."""
        return self._optional("effect.csv")

    @cached_property
    def inputs(self) -> list[Capture]:
        """One capture per input; of a block, its maps of every input."""
        block = next((f"{one}/" for one in self._blocks if self._folder.startswith(f"{one}/")), "")
        numbers = set()
        for name in self.files:
            *folders, file = name.split("/")
            if file == "tokens.json" and name.startswith(block):
                numbers.add(int(folders[-1]) if "inputs" in folders else 0)
        return [Capture(self._files, self.summary, block + (f"inputs/{i}/" if i else "")) for i in sorted(numbers)]

    @cached_property
    def blocks(self) -> dict[str, Capture]:
        """Of a model with an encoder and a decoder: the maps of encoder, decoder and cross. Empty for other models."""
        folders = {one: f"{one}/{self._folder}" for one in self._blocks}
        return {one: Capture(self._files, self.summary, folder) for one, folder in folders.items()
                if f"{folder}tokens.json" in self.files}

    def _expect_one_block(self) -> None:
        if self.blocks:
            raise ArgumentError(f"the capture has the maps of several blocks; choose {' or '.join(self.blocks)}, as in "
                                f"capture.blocks['{list(self.blocks)[-1]}']")

    def _maps_of(self, what: str) -> NDArray[Any]:
        self._expect_one_block()
        maps = self.pattern if what == "pattern" else self.scores
        if maps is None:
            raise ArgumentError(f"the capture has no {what}; request it with what=['pattern', 'scores']")
        return maps

    def map(self, head: str, what: str = "pattern") -> NDArray[np.float32]:
        """One head's map, [query, key]."""
        maps = self.pattern if what == "pattern" else self.scores
        if maps is None or head not in self.heads:
            raise ArgumentError(f"there is no {what} of '{head}'")
        found: NDArray[np.float32] = maps[self.heads.index(head)]
        return found

    def _plots(self) -> Mapping[str, str]:
        return {"map": "attention_map"} if self.pattern is not None or self.scores is not None else {}


class Detection(Result):
    """What heads attend to on random tokens (``detect``)."""

    command = "detect"
    detectors: ClassVar[tuple[str, ...]] = ("previous", "identity", "duplicate", "induction", "next", "first")

    @cached_property
    def scores(self) -> Table:
        """One row per head, one column per detector."""
        return self.table("detectors.csv")

    @cached_property
    def labels(self) -> dict[str, Any]:
        """The detected heads by class, as ``relate`` takes them: its ``labels`` may also be this result."""
        if "labels.json" in self.files:
            written: dict[str, Any] = json.loads(self._text("labels.json"))
            return written
        # A detector that could not be used, e.g. on a bidirectional model, has no scores.
        known = [name for name in self.detectors if name in self.scores.names]  # older runs lack some
        used = [name for name in known if not np.isnan(np.asarray(self.scores[name], dtype=float)).all()]
        heads = list(zip(self.scores["head"], self.scores["detected"], strict=True))
        classes = {name: [str(head) for head, found in heads if name in str(found).split()] for name in used}
        ignored = [name for name in ("identity",) if name in classes]
        return {"name": "detected", "source": "headscope detect", "classes": classes, "ignored": ignored}

    @cached_property
    def lengths(self) -> Table | None:
        """Per detector and length: sequences, the score of uniform attention, and how many heads are detected."""
        return self._optional("detector_lengths.csv")

    def heads(self, detector: str) -> list[str]:
        """Heads that pass the threshold of a detector at all lengths, best first."""
        if detector not in self.detectors:
            raise ArgumentError(f"detector: found '{detector}', expected one of {', '.join(self.detectors)}")
        score = np.nan_to_num(np.asarray(self.scores[detector], dtype=float), nan=-1.0)
        detected = [str(names).split() for names in self.scores["detected"]]
        passed = [i for i in np.argsort(-score, kind="stable") if detector in detected[i]]
        return [str(self.scores["head"][i]) for i in passed]

    def _plots(self) -> Mapping[str, str]:
        return {"detectors": "detectors"}


class Organization(Result):
    """Trees, embeddings and sparsity of attention maps (``organize``)."""

    command = "organize"
    axes: ClassVar[tuple[str, ...]] = ("head", "query", "key")

    _state: ClassVar[tuple[str, ...]] = ("_files", "summary", "_maps")
    _looked = False  # whether maps were looked for in the folder

    def __init__(self, files: Files, summary: str = "") -> None:
        super().__init__(files, summary)
        self._maps: NDArray[Any] | None = None

    @classmethod
    def _from_call(cls: type[_T], files: Files, summary: str, parameters: Mapping[str, Any]) -> _T:
        result = cls(files, summary)
        assert isinstance(result, Organization)
        source = parameters["source"]
        if isinstance(source, Capture) and parameters["block"] is not None:
            source = source.blocks[parameters["block"]]
        selected = any(parameters[name] for name in ("skip_first", "layers", "heads", "queries", "keys"))
        if not isinstance(source, (str, PathLike)) and parameters["axes"] == "hqk" and not selected:
            result._maps = source._maps_of(parameters["what"]) if isinstance(source, Capture) else float_array(
                "source", source)
        return result

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if isinstance(self._files, Folder):
            state["_maps"] = None  # they are found again where the files are
        return state

    def _maps_in_folder(self) -> NDArray[Any] | None:
        """The maps beside the files of the result. They need not be those that were organized."""
        assert isinstance(self._files, Folder)
        commands = self._files.manifest()["commands"]
        identity = commands["organize"]["identity"]
        selections = ("skip_first", "layers", "heads", "queries", "keys")
        if "capture" not in commands or any(identity.get(name) not in ("", "0") for name in selections):
            return None
        captured = Capture.open(self._files.path)
        maps = captured.scores if identity.get("what") == "scores" else captured.pattern
        if maps is None or _native.map_fingerprint(float_array("maps", maps)) != identity.get("source"):
            return None
        return maps

    def _by_axis(self, folder: str) -> dict[str, NDArray[Any]]:
        return {axis: self.array(f"{folder}/{axis}.npy") for axis in self.axes}

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """Partition trees by axis: head, query, key."""
        return {axis: self._tree(f"trees/{axis}.json") for axis in self.axes}

    @cached_property
    def affinity(self) -> dict[str, NDArray[np.float32]]:
        """Affinities by axis, [element, element]."""
        return self._by_axis("affinity")

    @cached_property
    def embedding(self) -> dict[str, NDArray[np.float32]]:
        """Diffusion maps: [element, coordinate]."""
        return self._by_axis("embedding")

    @cached_property
    def order(self) -> dict[str, NDArray[np.int64]]:
        """The elements in the order of the leaves."""
        return self._by_axis("order")

    @cached_property
    def haar(self) -> NDArray[np.float32]:
        """Tri-Haar coefficients, [head, query, key]."""
        return self.array("haar/network.npy")

    @cached_property
    def sparsity(self) -> Table:
        """How few Haar coefficients hold the network and each head, beside shuffled trees."""
        return self.table("sparsity.csv")

    @cached_property
    def decay(self) -> Table:
        """Sorted magnitudes of the Haar coefficients."""
        return self.table("decay.csv")

    @cached_property
    def convergence(self) -> Table:
        """The score after each iteration of the questionnaire."""
        return self.table("convergence.csv")

    @property
    def maps(self) -> NDArray[np.float32] | None:
        """The maps that were organized, [head, query, key]; None if they are not available."""
        if self._maps is None and isinstance(self._files, Folder) and not self._looked:
            self._maps, self._looked = self._maps_in_folder(), True
        maps = self._maps
        extents = tuple(self.trees[axis].n for axis in self.axes)
        return maps if maps is not None and maps.shape in (extents, extents[1:]) else None

    def _main_table(self) -> Table:
        return self.sparsity

    def _plots(self) -> Mapping[str, str]:
        drawn = {"tree": "organization_tree", "embedding": "embedding", "decay": "decay", "affinity": "axis_affinity"}
        return {"map": "organized_map", **drawn} if self.maps is not None else drawn


class Invariance(Result):
    """Whether the softmax keeps the organization of the scores (``softmax``)."""

    command = "softmax"

    @cached_property
    def heads(self) -> Table:
        """Errors, exponents and agreements, one row per head."""
        return self.table("invariance.csv")

    @cached_property
    def levels(self) -> Table:
        """Adjusted Rand index, level by level."""
        return self.table("invariance_levels.csv")

    def paraproduct(self, head: str) -> dict[str, NDArray[np.float64]]:
        """Scores, softmax and its approximations of a head whose arrays were kept."""
        name = f"paraproduct/{head}.npz"
        if name not in self.files:
            raise ArgumentError(f"the arrays of '{head}' were not kept; request them with heads= or paraproduct='all'")
        with np.load(io.BytesIO(self._files.content(name)), allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def _main_table(self) -> Table:
        return self.heads

    def _plots(self) -> Mapping[str, str]:
        return {"errors": "paraproduct_errors"}


class Pruning(Result):
    """Rankings of heads for removal, and what the model loses without them (``prune``)."""

    command = "prune"
    _in_report = False

    @cached_property
    def ranking(self) -> Table:
        """The heads in the order in which each criterion removes them."""
        return self.table("ranking.csv")

    @cached_property
    def curve(self) -> Table:
        """Loss, accuracy and KL by the number of heads removed, per ranking."""
        return self.table("curve.csv")

    @cached_property
    def orders(self) -> Table:
        """The random orders at the full budget that the criteria are compared with: any heads, or as many per layer."""
        return self.table("orders.csv")

    @cached_property
    def chosen(self) -> dict[str, Any]:
        """pruned.json: the criterion that was chosen, its heads, and what the model does before and after."""
        chosen: dict[str, Any] = json.loads(self._text("pruned.json"))
        return chosen

    @property
    def removed(self) -> list[str]:
        """The heads of ``chosen``."""
        return list(self.chosen["removed"])

    @property
    def checkpoint(self) -> Path | None:
        """The folder of the pruned model; None if none was written or the result is in memory (``save`` writes it)."""
        folder = self._files.path / "pruned" if isinstance(self._files, Folder) else None
        return folder if folder is not None and any(name.startswith("pruned/") for name in self.files) else None

    def _main_table(self) -> Table:
        return self.ranking

    def _plots(self) -> Mapping[str, str]:
        return {"curve": "damage_curves", "ranking": "head_ranking"}


class Patching(Result):
    """Which edges between heads matter: what changes when they are cut (``patch``)."""

    command = "patch"

    def _of_cuts(self, file: str) -> str:
        if file not in self.files:
            raise ArgumentError(f"no edge was cut that {file} would have; nodes= says where the edges end")
        return file

    @cached_property
    def edges(self) -> Table:
        """The edges that were cut, controls among them, with projection kernel, z, local effect and effect."""
        return self.table(self._of_cuts("patch.csv"))

    @cached_property
    def agreement(self) -> Table:
        """How the effects compare with random edges, the projection kernel and the screen, by pair and sample."""
        return self.table(self._of_cuts("patch_agreement.csv"))

    @cached_property
    def component_edges(self) -> Table:
        """The edges to MLPs and the unembedding that were cut, with overlap, z and effect, if ``nodes`` had these."""
        return self.table(self._of_cuts("patch_components.csv"))

    @cached_property
    def component_agreement(self) -> Table:
        """How the effects of ``component_edges`` compare with random edges and with the overlap, by pair."""
        return self.table(self._of_cuts("patch_component_agreement.csv"))

    @cached_property
    def circuit(self) -> dict[str, Any]:
        """circuit.json: the edges above the controls whose weights are beyond chance, their ends, and the levels."""
        circuit: dict[str, Any] = json.loads(self._text(self._of_cuts("circuit.json")))
        return circuit

    @cached_property
    def screen(self) -> dict[str, NDArray[np.float32]]:
        """Local effects of all edges by pair of roles, [source head, target head]; 0 where the target is not later."""
        names = [name for name in self.files if name.startswith("screen/")]
        return {name[len("screen/"):-len(".npy")]: self.array(name) for name in names}

    @property
    def before(self) -> float:
        """The loss, or the logit difference, with nothing cut."""
        return float(self.circuit["before"])

    def to_networkx(self) -> Any:
        """The circuit as a ``networkx.MultiDiGraph``, with the attributes of circuit.graphml."""
        import networkx  # type: ignore[import-untyped, unused-ignore]

        graph: Any = networkx.MultiDiGraph()
        for node in self.circuit["nodes"]:
            graph.add_node(node["name"], **{key: value for key, value in node.items() if key != "name"})
        for edge in self.circuit["edges"]:
            attributes = {key: value for key, value in edge.items() if key not in ("source", "target", "kind")}
            graph.add_edge(edge["source"], edge["target"], **attributes, weight=abs(edge["effect"]))
        return graph

    def _main_table(self) -> Table | None:
        if "patch.csv" in self.files:
            return self.edges
        return self.component_edges if "patch_components.csv" in self.files else None

    def _plots(self) -> Mapping[str, str]:
        return {"effects": "cut_effects"} if "patch.csv" in self.files else {}


class Comparison(Result):
    """Which differences between networks exceed the spread over inputs (``compare``)."""

    command = "compare"
    _in_report = False

    @cached_property
    def comparison(self) -> Table:
        """Every feature of every two runs: means, difference, spread, p, verdict."""
        return self.table("comparison.csv")

    @cached_property
    def features(self) -> Table:
        """Every feature of every run on every input, curves point by point."""
        return self.table("features.csv")

    @cached_property
    def distances(self) -> NDArray[np.float32]:
        """Distances between runs, [run, run]."""
        return self.array("distances.npy")

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Names, paths, kinds and sizes of what was compared."""
        return list(json.loads(self._text("compare.json"))["runs"])

    @property
    def names(self) -> list[str]:
        """Names of the runs, in the order of ``distances``."""
        return [str(run["name"]) for run in self.runs]

    def _main_table(self) -> Table:
        return self.comparison

    def _plots(self) -> Mapping[str, str]:
        drawn = {"distances": "distance_matrix", "decay": "compared_decay"}
        return drawn if "decay" in self.features["feature"] else {"distances": "distance_matrix"}
