"""Trees, embeddings and sparsity of maps: the result of ``organize``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._arrays import float_array
from .._files import Files, Folder
from .._result import Result
from .._tables import Table
from .._trees import Tree
from .capture import Capture

_T = TypeVar("_T", bound=Result)


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
