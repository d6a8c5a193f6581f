"""The words of the command line as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import ArgumentError, FormatError
from ._model import Model
from ._run import Run, folder_of
from ._words import Path, Some, run_command, run_report
from .results import Capture, Comparison, Detection, Invariance, Organization, Pruning, Relation, Result

#: An array, or anything that NumPy or DLPack makes one of: NumPy, torch, JAX, nested lists.
ArrayLike = Any


def _float_array(values: ArrayLike) -> NDArray[np.float32]:
    """The same memory where it is float32 in C order already."""
    if hasattr(values, "detach"):
        values = values.detach()
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":
            values = values.float()
        device = getattr(values, "device", None)
        if device is not None and getattr(device, "type", "cpu") != "cpu":
            values = values.cpu()
        values = np.from_dlpack(values)
    return np.ascontiguousarray(values, dtype=np.float32)


def _model(model: Model | Path) -> Model:
    return model if isinstance(model, Model) else Model.open(model)


def relate(
    model: Model | Path,
    *,
    pairs: Some | None = None,
    metric: Some | None = None,
    weights: str | None = None,
    null: Some | None = None,
    top: int | None = None,
    max_q: float | None = None,
    labels: Path | None = None,
    tokens: int | None = None,
    tokens_for: str | None = None,
    tokens_from: str | None = None,
    layers: Some | None = None,
    heads: Some | None = None,
    earlier_only: bool = False,
    draws: int | None = None,
    seed: int | None = None,
    memory: str | int | None = None,
    device: str | None = None,
    precision: str | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Relation:
    """Which heads talk to which, from their weights.

    The arguments are the options of ``headscope relate``, with its defaults: ``pairs`` of roles (``"OQ"``, ``"all"``),
    ``metric`` (``pk``, ``max-cos``, ``binet-cauchy``, ``chordal``, ``grassmann``, ``procrustes``, ``cka``, ``cs``,
    ``simple-cs``; the first makes the graph), ``null`` models, ``top`` edges per pair or those with q-values below ``max_q``,
    a file of ``labels``; ``device`` (``"cuda"``) and its ``precision`` where headscope was built with one. With ``run``
    the files are written to that folder as well.
    """
    loaded = _model(model)
    options = dict(
        pairs=pairs, metric=metric, weights=weights, null=null, top=top, max_q=max_q, labels=labels, tokens=tokens,
        tokens_for=tokens_for, tokens_from=tokens_from, layers=layers, heads=heads, earlier_only=earlier_only,
        draws=draws, seed=seed, memory=memory, device=device, precision=precision, force=force,
    )
    files, printed = run_command("relate", [loaded.path], options, model=loaded._native, run=run, progress=progress)
    return Relation(files, printed)


def _several(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, PathLike))


def _ids(values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if array.ndim not in (1, 2) or array.size == 0 or array.dtype.kind not in "iu":
        raise ArgumentError(f"ids: {array.dtype} of shape {list(array.shape)}, expected integers [tokens] or [inputs, tokens]")
    return np.ascontiguousarray(np.atleast_2d(array), dtype=np.int64)


def _pixels(values: ArrayLike) -> NDArray[np.float32]:
    array = _float_array(values)
    return array[np.newaxis] if array.ndim == 3 else array


class _Inputs:
    """What a model is run on: words for the command line, and the arrays they stand for."""

    def __init__(self, text: Any, ids: Any, text_file: Any, image: Any, pixels: Any) -> None:
        self.words = [f"--text={one}" for one in _several(text)]
        self.words += [f"--text-file={fspath(one)}" for one in _several(text_file)]
        self.words += [f"--image={fspath(one)}" for one in _several(image)]
        self.ids: dict[str, NDArray[np.int64]] = {}
        self.pixels: dict[str, NDArray[np.float32]] = {}
        if ids is not None:
            self.words.append(f"--ids={fspath(ids) if _is_path(ids) else 'ids'}")
            if not _is_path(ids):
                self.ids["ids"] = _ids(ids)
        if pixels is not None:
            self.words.append(f"--pixels={fspath(pixels) if _is_path(pixels) else 'pixels'}")
            if not _is_path(pixels):
                self.pixels["pixels"] = _pixels(pixels)


def capture(
    model: Model | Path,
    text: str | Sequence[str] | None = None,
    *,
    ids: ArrayLike | Path | None = None,
    text_file: Path | Sequence[Path] | None = None,
    image: Path | Sequence[Path] | None = None,
    pixels: ArrayLike | Path | None = None,
    lines: bool = False,
    special: bool = True,
    max_tokens: int | None = None,
    what: Some | None = None,
    dtype: str | None = None,
    layers: Some | None = None,
    heads: Some | None = None,
    queries: str | None = None,
    output: bool = True,
    ablate: Some | None = None,
    ablation: str | None = None,
    memory: str | int | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Capture:
    """Runs the model and keeps its attention maps.

    Inputs are ``text`` for the model's own tokenizer, token ``ids`` (an array [tokens] or [inputs, tokens], or an .npy
    file), ``image`` files or normalized ``pixels`` ([channels, height, width], or several). Maps are held in memory,
    or with ``run`` written to that folder as they are computed and mapped from there.
    """
    loaded = _model(model)
    given = _Inputs(text, ids, text_file, image, pixels)
    options = dict(
        lines=lines, no_special=not special, max_tokens=max_tokens, what=what, dtype=dtype, layers=layers, heads=heads,
        queries=queries, no_output=not output, ablate=ablate, ablation=ablation, memory=memory, force=force,
    )
    files, printed = run_command(
        "capture", [loaded.path], options, model=loaded._native, ids=given.ids, pixels=given.pixels,
        repeated=given.words, run=run, progress=progress,
    )
    return Capture(files, printed)


def detect(
    model: Model | Path,
    *,
    sequences: int | None = None,
    length: int | None = None,
    bos: bool = True,
    threshold: float | None = None,
    labels: bool = False,
    seed: int | None = None,
    memory: str | int | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Detection:
    """Which heads look back, copy, repeat: from attention on seeded random tokens."""
    loaded = _model(model)
    options = dict(
        sequences=sequences, length=length, no_bos=not bos, threshold=threshold, labels=labels, seed=seed,
        memory=memory, force=force,
    )
    files, printed = run_command("detect", [loaded.path], options, model=loaded._native, run=run, progress=progress)
    return Detection(files, printed)


class _Source:
    """What ``organize`` and ``softmax`` work on: a name for the command line, and what it stands for."""

    def __init__(self, source: Capture | Run | ArrayLike | Path, what: str, mask: Any) -> None:
        self.arrays: dict[str, NDArray[np.float32]] = {}
        self.tokens: dict[str, str] = {}
        self.maps: Callable[[], NDArray[Any] | None] | None = None
        if isinstance(source, (str, PathLike)):
            self.word = fspath(source)
        elif isinstance(source, Capture):
            maps = source.pattern if what == "pattern" else source.scores
            if maps is None:
                raise ArgumentError(f"the capture holds no {what}; ask for it with what=['pattern', 'scores']")
            self._give("capture", maps)
            self.tokens["capture"] = source._text(source._folder + "tokens.json")
        else:
            self._give("array", source)
        self.mask = mask
        if mask is not None and not _is_path(mask):
            self.arrays["mask"], self.mask = _float_array(mask), "mask"

    def _give(self, word: str, values: ArrayLike) -> None:
        array = _float_array(values)
        self.word = word
        self.arrays[word] = array
        self.maps = lambda: array


def organize(
    source: Capture | Run | ArrayLike | Path,
    *,
    what: str | None = None,
    axes: str | None = None,
    array: str | None = None,
    mask: str | PathLike[str] | ArrayLike | None = None,
    skip_first: int | None = None,
    layers: Some | None = None,
    heads: Some | None = None,
    queries: str | None = None,
    keys: str | None = None,
    iterations: int | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    epsilon: float | None = None,
    tree: str | None = None,
    stop_below: float | None = None,
    dimensions: int | None = None,
    time: float | None = None,
    draws: int | None = None,
    seed: int | None = None,
    memory: str | int | None = None,
    device: str | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Organization:
    """Trees, embeddings and sparsity of attention maps.

    ``source`` is what ``capture`` gave, a RUN folder, a file, or an array whose ``axes`` are ``hqk`` (heads, queries,
    keys), ``lhqk``, ``qkh`` or ``qk``. ``mask`` is ``none``, ``causal``, ``zeros`` or an array in which zeros are absent.
    """
    given = _Source(source, what or "pattern", mask)
    options = dict(
        what=what, axes=axes, array=array, mask=given.mask, skip_first=skip_first, layers=layers, heads=heads,
        queries=queries, keys=keys, iterations=iterations, alpha=alpha, beta=beta, epsilon=epsilon, tree=tree,
        stop_below=stop_below, dimensions=dimensions, time=time, draws=draws, seed=seed, memory=memory,
        device=device, force=force,
    )
    files, printed = run_command(
        "organize", [given.word], options, arrays=given.arrays, tokens=given.tokens, run=run, progress=progress
    )
    whole = all(one is None for one in (axes, skip_first, layers, heads, queries, keys))
    return Organization(files, printed, given.maps if whole else None)


def softmax(
    source: Capture | Run | ArrayLike | Path,
    *,
    axes: str | None = None,
    array: str | None = None,
    mask: str | PathLike[str] | ArrayLike | None = None,
    skip_first: int | None = None,
    layers: Some | None = None,
    heads: Some | None = None,
    queries: str | None = None,
    keys: str | None = None,
    iterations: int | None = None,
    boundary: str | None = None,
    paraproduct: str | None = None,
    draws: int | None = None,
    seed: int | None = None,
    memory: str | int | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Invariance:
    """Does the softmax keep the organization of the scores? ``source`` as for ``organize``, holding scores."""
    given = _Source(source, "scores", mask)
    options = dict(
        axes=axes, array=array, mask=given.mask, skip_first=skip_first, layers=layers, heads=heads, queries=queries,
        keys=keys, iterations=iterations, boundary=boundary, paraproduct=paraproduct, draws=draws, seed=seed,
        memory=memory, force=force,
    )
    files, printed = run_command(
        "softmax", [given.word], options, arrays=given.arrays, tokens=given.tokens, run=run, progress=progress
    )
    return Invariance(files, printed)


def _labels(values: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ArgumentError(f"labels: {array.dtype} of shape {list(array.shape)}, expected integers, one for each input")
    if array.min() < 0:
        raise FormatError(f"labels: label {array.min()} is negative")
    return np.ascontiguousarray(array[np.newaxis], dtype=np.int64)


def prune(
    model: Model | Path,
    text: str | Sequence[str] | None = None,
    *,
    ids: ArrayLike | Path | None = None,
    text_file: Path | Sequence[Path] | None = None,
    image: Path | Sequence[Path] | None = None,
    pixels: ArrayLike | Path | None = None,
    lines: bool = False,
    special: bool = True,
    max_tokens: int | None = None,
    labels: ArrayLike | Path | None = None,
    criteria: Some | None = None,
    count: int | None = None,
    fraction: float | None = None,
    per_layer: bool = False,
    protect: Some | None = None,
    layers: Some | None = None,
    heads: Some | None = None,
    damage: str | None = None,
    points: int | None = None,
    candidates: int | None = None,
    choose_on: int | None = None,
    map_inputs: int | None = None,
    skip_first: int | None = None,
    write: str | None = None,
    seeds: int | None = None,
    seed: int | None = None,
    memory: str | int | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Pruning:
    """Which heads can go, what the model loses without them, and the model without them.

    Inputs are given as for ``capture``; ``labels`` are the right classes of images. ``criteria`` are ``information``,
    ``redundancy``, ``pk``, ``norm``, ``alone``, ``greedy``, ``random`` or ``all``; ``count`` or ``fraction`` is the budget.
    The pruned model is held in memory until ``save``; ``run`` writes it to that folder, ``write="none"`` does without.
    """
    loaded = _model(model)
    given = _Inputs(text, ids, text_file, image, pixels)
    if labels is not None and not _is_path(labels):
        given.ids["labels"], labels = _labels(labels), "labels"
    options = dict(
        lines=lines, no_special=not special, max_tokens=max_tokens, labels=labels, criteria=criteria, count=count,
        fraction=fraction, per_layer=per_layer, protect=protect, layers=layers, heads=heads, damage=damage, points=points,
        candidates=candidates, choose_on=choose_on, map_inputs=map_inputs, skip_first=skip_first, write=write,
        seeds=seeds, seed=seed, memory=memory, force=force,
    )
    files, printed = run_command(
        "prune", [loaded.path], options, model=loaded._native, ids=given.ids, pixels=given.pixels, repeated=given.words,
        run=run, progress=progress,
    )
    return Pruning(files, printed)


def compare(
    runs: Iterable[Path | Run | Result] | Mapping[str, Path | Run | Result],
    *,
    names: Some | None = None,
    what: str | None = None,
    skip_first: int | None = None,
    inputs: int | None = None,
    iterations: int | None = None,
    draws: int | None = None,
    seed: int | None = None,
    memory: str | int | None = None,
    run: Path | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Comparison:
    """Which differences between networks exceed the spread over inputs.

    ``runs`` are two or more folders with attention maps (or with what ``relate`` wrote), or what ``capture`` gave; a
    mapping gives them names.
    """
    if isinstance(runs, Mapping):
        names, runs = list(runs), list(runs.values())
    runs = list(runs)
    if names is None and any(isinstance(one, Result) for one in runs):
        names = [f"{one.command} {i}" if isinstance(one, Result) else fspath(one) for i, one in enumerate(runs)]
    options = dict(
        names=names, what=what, skip_first=skip_first, inputs=inputs, iterations=iterations, draws=draws, seed=seed,
        memory=memory, force=force,
    )
    with ExitStack() as stack:
        folders = [stack.enter_context(folder_of(one)) for one in runs]
        files, printed = run_command("compare", folders, options, run=run, progress=progress)
    return Comparison(files, printed)


def report(
    run: Path | Run | Result | Iterable[Result],
    page: Path,
    *,
    title: str | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> str:
    """One self-contained interactive page of whatever a RUN folder holds, or of results that belong together.

    Gives what the command line prints.
    """
    with folder_of(run) as folder:
        return run_report(folder, page, dict(title=title, force=force), progress)


def open_run(run: Path) -> Run:
    """A RUN folder that commands or ``save`` wrote to."""
    return Run(run)
