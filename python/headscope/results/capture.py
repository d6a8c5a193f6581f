"""Attention maps: the result of ``capture``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._errors import ArgumentError
from .._files import Files
from .._result import Result
from .._tables import Table


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
