"""Which metric finds the wiring of compiled programs, where it is known?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from checkpoint import Weights, beyond_chance, component_scores, head_scores, run_relate, write_program
from compiler import Component, Program
from execute import agrees
from harness import headscope, scratch
from metrics import METRICS, Source, Target, all_scores, cosines
from programs import SOURCES, compiled
from scoring import auc, average_precision
from squeeze import frame, squeezed

from report import Answer, Check, markdown_table

ORDER = 1
SHARES = (1.0, 0.75, 0.5, 0.35)
SEEDS = 10
SHORT_PROGRAMS, SHORT_SEEDS = ["dyck", "induction", "pattern"], 2
INPUTS = 10  # per program, to see that the weights are those of the program
BEYOND = {"Q": "K", "K": "Q", "V": "O"}


def source_of(component: Component, weights: Weights) -> Source:
    is_head = component.head is not None
    inner = weights[component.name, "V"] if is_head else None
    return Source(weights[component.name, component.out_role], inner, is_head)


def target_of(component: Component, role: str, weights: Weights) -> Target:
    is_head = component.head is not None
    outer = weights[component.name, BEYOND[role]] if is_head else None
    return Target(weights[component.name, role], outer, is_head)


def reference_scores(program: Program, weights: Weights) -> dict[str, np.ndarray]:
    """Every metric of every pair, in NumPy."""
    rows = [all_scores(source_of(s, weights), target_of(t, role, weights)) for s, t, role in program.pairs()]
    return {name: np.array([row[name] for row in rows]) for name in METRICS}


def has_nodes() -> bool:
    """Whether the program can relate MLPs."""
    return "--nodes" in headscope("relate", "--help")


@dataclass
class Comparison:
    """headscope relate on a squeezed program: how far its values are from NumPy's, and what it calls beyond chance."""

    difference: float  # the largest: relative above 1, absolute below
    values: int
    beyond: np.ndarray | None  # per pair; None without --nodes


def compare(program: Program, share: float, seed: int = 0) -> Comparison:
    """Runs relate and compares all values that it gives."""
    directions = frame(len(program.features), share, seed)
    weights, tokens = squeezed(program, directions), program.embedding @ directions
    reference = reference_scores(program, weights)
    ends = [(source_of(s, weights), target_of(t, role, weights)) for s, t, role in program.pairs()]
    ranks = np.array([np.sqrt(np.prod(cosines(*pair)[1:])) for pair in ends])
    with scratch() as folder:
        model = write_program(folder / "model", program, weights, tokens)
        nodes = has_nodes()
        run = run_relate(model, folder / "run", ["--nodes", "heads,mlp", "--top", "100000"] if nodes else [])
        pairs = [(found, reference[name] * (ranks if name == "pk" else 1), name)
                 for name, found in head_scores(run, program).items()]  # fmt: skip
        if nodes:
            pairs += [(found, reference[name], name) for name, found in component_scores(run, program).items()]
        beyond = beyond_chance(run, program) if nodes else None
    largest, count = 0.0, 0
    for found, expected, name in pairs:
        given = ~np.isnan(found)
        if name == "binet-cauchy":  # logarithms of numbers that may be zero
            found, expected = np.exp(found), np.exp(expected)
        difference = np.abs(found - expected)[given] / np.maximum(1, np.abs(expected[given]))
        largest, count = max(largest, float(difference.max(initial=0))), count + int(given.sum())
    return Comparison(largest, count, beyond)


@dataclass
class Scored:
    """Average precision and AUC of every metric: one row per seed and program, and pooled per seed."""

    precision: dict[str, np.ndarray]
    area: dict[str, np.ndarray]
    pooled: dict[str, np.ndarray]


def score(programs: list[Program], share: float, seeds: int) -> Scored:
    precision, area, pooled = ({name: [] for name in METRICS} for _ in range(3))  # type: dict, dict, dict
    for seed in range(seeds):
        everything: dict[str, list[np.ndarray]] = {name: [] for name in METRICS}
        truth = [program.truth() for program in programs]
        for program, true in zip(programs, truth, strict=True):
            weights = squeezed(program, frame(len(program.features), share, seed))
            for name, values in reference_scores(program, weights).items():
                precision[name].append(average_precision(values, true))
                area[name].append(auc(values, true))
                everything[name].append(values)
        for name, parts in everything.items():
            pooled[name].append(average_precision(np.concatenate(parts), np.concatenate(truth)))
    shape = (seeds, len(programs))
    return Scored(
        {name: np.reshape(values, shape) for name, values in precision.items()},
        {name: np.reshape(values, shape) for name, values in area.items()},
        {name: np.array(values) for name, values in pooled.items()},
    )


def metric_table(results: dict[float, Scored]) -> str:
    header = ["metric", *(f"{share:g}" for share in results), "pooled at 0.5", "worst seed at 0.5"]
    rows = []
    for name in METRICS:
        cells = [f"{one.precision[name].mean():.3f} ({one.area[name].mean():.3f})" for one in results.values()]
        half = results[0.5]
        cells += [f"{half.pooled[name].mean():.3f}", f"{half.precision[name].mean(axis=1).min():.3f}"]
        rows.append([f"`{name}`", *cells])
    return markdown_table(header, rows)


def program_table(programs: list[Program], results: dict[float, Scored]) -> str:
    rows = []
    for place, program in enumerate(programs):
        true, count = int(program.truth().sum()), len(program.truth())
        cells = [program.name, str(len(program.features)), str(len(program.components)), f"{true} of {count}"]
        late = list(results.values())[2:]
        cells += [f"{one.precision[name][:, place].mean():.2f}" for one in late for name in ("pk", "overlap")]
        rows.append(cells)
    shares = list(results)[2:]
    header = ["program", "features", "heads and MLPs", "true pairs"]
    return markdown_table(header + [f"`{name}` at {share:g}" for share in shares for name in ("pk", "overlap")], rows)


def verdict(results: dict[float, Scored]) -> str:
    """Which metrics beat pk at which width, by the mean over programs and seeds."""
    said = []
    for share, one in results.items():
        base = one.precision["pk"].mean()
        better = {name: values.mean() for name, values in one.precision.items() if values.mean() > base + 0.0005}
        ordered = sorted(better, key=lambda name: -better[name])
        if ordered:
            said.append(f"at {share:g} " + ", ".join(f"`{name}` ({better[name]:.3f})" for name in ordered)
                        + f" beat `pk` ({base:.3f})")  # fmt: skip
        else:
            said.append(f"at {share:g} none beats `pk` ({base:.3f})")
    return "Average precision: " + "; ".join(said) + "."


def edges_with_mlp(programs: list[Program]) -> tuple[int, int]:
    true = [pair for program in programs for pair, holds in zip(program.pairs(), program.truth(), strict=True) if holds]
    return sum(None in (source.head, target.head) for source, target, _ in true), len(true)


def chance_table(programs: list[Program], runs: dict[float, list[Comparison]]) -> str:
    """How many true pairs and how many others relate calls beyond chance."""
    rows = []
    for share, comparisons in runs.items():
        beyond = np.concatenate([one.beyond for one in comparisons if one.beyond is not None])
        truth = np.concatenate([program.truth() for program in programs])
        cells = [f"{int(beyond[part].sum())} of {int(part.sum())}" for part in (truth, ~truth)]
        rows.append([f"{share:g}", *cells])
    return markdown_table(["width", "true pairs beyond chance", "other pairs beyond chance"], rows)


def run(short: bool) -> Answer:
    programs = [compiled(name) for name in (SHORT_PROGRAMS if short else SOURCES)]
    seeds = SHORT_SEEDS if short else SEEDS
    results = {share: score(programs, share, seeds) for share in SHARES}
    runs = {share: [compare(program, share) for program in programs] for share in ((1.0, 0.5) if short else SHARES)}
    difference = max(one.difference for several in runs.values() for one in several)
    values = sum(one.values for several in runs.values() for one in several)
    right = [agrees(program, seed) for program in programs for seed in range(INPUTS)]
    unlike = sum(int((program.truth() != program.shares_feature()).sum()) for program in programs)
    parts = [
        introduction(programs, seeds), metric_table(results), verdict(results), program_table(programs, results),
        f"As a transformer in NumPy, the weights give the program's own result on {sum(right)} of {len(right)} inputs. "
        "The numbers above are computed in NumPy from the formulas. What `headscope relate` gives for "
        f"{'heads and MLPs' if has_nodes() else 'heads'} agrees with them to {difference:.0e} in {values:,} values.",
    ]  # fmt: skip
    if has_nodes():
        parts.append("What `headscope relate --nodes heads,mlp` calls beyond chance, one seed:")
        parts.append(chance_table(programs, runs))
    return Answer("\n\n".join(parts), checks(results, difference, float(np.mean(right)), unlike))


def introduction(programs: list[Program], seeds: int) -> str:
    mlp, true = edges_with_mlp(programs)
    pairs = sum(len(program.truth()) for program in programs)
    return (
        f"{len(programs)} programs, compiled to transformers with `tracr-pypi` 1.0.0. A pair is a component that "
        f"writes "
        f"and one that reads later, by role (query, key, value, MLP): {pairs} pairs, {true} of them true by the "
        f"program's "
        f"own graph, {mlp} of these with an MLP. The features, one direction each, are squeezed at random into a "
        f"stream "
        f"of 1, 0.75, 0.5 and 0.35 times their number; {seeds} seeds. Mean average precision over programs and "
        f"seeds, in "
        "parentheses the mean area under the ROC curve:"
    )


def checks(results: dict[float, Scored], difference: float, right: float, unlike: int) -> list[Check]:
    full = min(results[1.0].precision[name].min() for name in ("pk", "overlap"))
    half = max(results[0.5].precision[name].mean() for name in ("pk", "overlap"))
    return [
        Check("average precision of pk and overlap at full width", full, low=1.0),
        Check("average precision of the better of pk and overlap at 0.5", half, low=0.9),
        Check("difference between the program and NumPy", difference, high=1e-4),
        Check("share of inputs on which the weights do what the program says", right, low=1.0),
        Check("pairs where graph and weights disagree about the truth", unlike, high=0),
    ]
