"""Does an edge matter? It is cut, and the loss is measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cuts import repeated_tokens
from harness import column, headscope, random_model, table
from real_runs import MODELS, RUNS, model_path, text_file, told
from scoring import auc

from report import markdown_table

ORDER = 6
LARGE = 0.05  # nats
REPEATED_FROM = "33"  # the first prediction that the repetition allows


@dataclass(frozen=True)
class Case:
    """A model, what it reads, and the options of patch that say so."""

    model: str
    reads: str
    words: Callable[[Path], list[str | Path]]

    @property
    def name(self) -> str:
        return f"{MODELS.get(self.model, self.model)}, {self.reads}"


def repetition(seed: int) -> Callable[[Path], list[str | Path]]:
    return lambda folder: ["--ids", repeated_tokens(folder / f"ids{seed}.npy", seed=seed), "--loss-from", REPEATED_FROM]


def prose(_folder: Path) -> list[str | Path]:
    return ["--text-file", text_file("smollm2"), "--lines", "--max-tokens", "65"]


def hidden_tokens(model: str) -> Callable[[Path], list[str | Path]]:
    """Every seventh token of the texts is replaced by the mask token, and has to be found again."""

    def words(folder: Path) -> list[str | Path]:
        run = folder / f"tokens-{model}"
        options = ["--text-file", text_file(model), "--lines", "--what", "pattern", "--no-output", "--force", "--quiet"]
        headscope("capture", model_path(model), "-o", run, *options)
        files = [run / "tokens.json", *sorted(run.glob("inputs/*/tokens.json"))]
        texts = [[token["id"] for token in json.loads(file.read_text())["tokens"]] for file in files]
        length = min(len(text) for text in texts)
        ids = np.array([text[:length] for text in texts], np.int64)
        labels = np.full_like(ids, -100)
        added = json.loads((model_path(model) / "tokenizer.json").read_text())["added_tokens"]
        mask = next(token["id"] for token in added if token["content"] == "[MASK]")
        hidden = slice(4, length - 1, 7)
        labels[:, hidden] = ids[:, hidden]
        ids[:, hidden] = mask
        np.save(folder / f"{model}.npy", ids)
        np.save(folder / f"{model}-labels.npy", labels)
        return ["--ids", folder / f"{model}.npy", "--labels", folder / f"{model}-labels.npy"]

    return words


CASES = [
    Case("smollm2", "random tokens repeated", repetition(0)),
    Case("smollm2", "other random tokens repeated", repetition(1)),
    Case("smollm2", "prose", prose),
    Case("rxnfp", "reactions with hidden tokens", hidden_tokens("rxnfp")),
    Case("antiberty", "antibodies with hidden tokens", hidden_tokens("antiberty")),
    Case("random weights", "random tokens repeated", repetition(0)),
]


def random_llama() -> Path:
    sizes = [
        "--layers",
        "8",
        "--d-model",
        "256",
        "--heads",
        "8",
        "--kv-heads",
        "4",
        "--d-mlp",
        "512",
        "--vocab",
        "49152",
    ]
    return random_model(RUNS / "random-llama", "--family", "llama", "--seed", "1", *sizes)


def patched(model: Path, folder: Path, words: list[str | Path]) -> Path:
    headscope("patch", model, "-o", folder, "--force", "--quiet", *words)
    return folder


def strongest(run: Path) -> str:
    edges = [row for row in table(run / "patch.csv") if row["kind"] != "control"]
    best = sorted(edges, key=lambda row: -abs(float(row["effect"])))[:5]
    return ", ".join(f"{row['pair']} {row['source']} > {row['target']} {float(row['effect']):+.3g}" for row in best)


def summary_row(case: str, run: Path) -> list[str]:
    """Edges above the controls by sample, with what chance gives, and the strongest edges."""
    about = json.loads((run / "circuit.json").read_text())
    agreement = table(run / "patch_agreement.csv")
    controls = {row["pair"]: 0 for row in agreement}
    for row in agreement:
        controls[row["pair"]] += int(row["controls"])
    cells = []
    for sample in ("top", "screen"):
        rows = [row for row in agreement if row["sample"] == sample]
        chosen, above = (sum(int(row[name]) for row in rows) for name in ("chosen", "above"))
        chance = sum(int(row["chosen"]) / (controls[row["pair"]] + 1) for row in rows)
        significant = [row["pair"] for row in rows if float(row["p"]) * len(agreement) <= 0.05]
        cells.append(f"{above} of {chosen} ({chance:.1f}); {', '.join(significant) or 'none'}")
    return [case, f"{about['before']:.2f}", *cells, str(len(about["edges"])), strongest(run)]


def agreement_rows(case: str, run: Path) -> list[list[str]]:
    """Per pair of roles: medians, how many are above the controls, and what finds them."""
    edges = table(run / "patch.csv")
    rows = []
    for one in table(run / "patch_agreement.csv"):
        sample = [row for row in edges if row["pair"] == one["pair"] and row["sample"] == one["sample"]]
        large = np.abs(column(sample, "effect")) > LARGE
        of_large = auc(column(sample, "local"), large)
        shown = [f"{float(one[name]):.2f}" if one[name] else "" for name in ("auc_pk", "auc_z", "auc_local")]
        rows.append([
            case, one["pair"], one["sample"], f"{float(one['median']):.2g} / {float(one['median_control']):.2g}",
            f"{one['above']} of {one['chosen']}", *shown, "" if np.isnan(of_large) else f"{of_large:.2f}",
            f"{float(one['p']):.2g}",
        ])  # fmt: skip
    return rows


def known(run: Path) -> list[str]:
    """The effects of the OK edges between the strongest previous-token and induction heads."""
    named = [("L16H0", "L17KV1"), ("L16H0", "L18KV2"), ("L17H8", "L18KV2")]
    effects = {(row["source"], row["target"]): row["effect"] for row in table(run / "patch.csv") if row["pair"] == "OK"}
    return [f"{float(effects[pair]):+.3g}" if pair in effects else "not cut" for pair in named]


def runs() -> dict[Case, Path]:
    """Every case, measured."""
    RUNS.mkdir(parents=True, exist_ok=True)
    found = {}
    for number, case in enumerate(CASES):
        model = random_llama() if case.model == "random weights" else model_path(case.model)
        found[case] = patched(model, RUNS / f"patch-{number}", case.words(RUNS))
    return found


def section(found: dict[Case, Path]) -> str:
    summary = [summary_row(case.name, run) for case, run in found.items()]
    rows = [row for case, run in found.items() for row in agreement_rows(case.name, run)]
    three = [[case.reads, *known(run)] for case, run in found.items() if case.model == "smollm2"]
    header = ["model and input", "loss", "above, by weights", "above, by screen", "circuit", "strongest edges"]
    details = ["model and input", "pair", "sample", "median effect / controls", "above", "pk", "z", "local",
               f"local, > {LARGE}", "p"]  # fmt: skip
    return "\n\n".join([
        "Per pair of roles, the 20 closest edges by projection kernel (`top`), the 20 with the largest local "
        "effect (`screen`), and for each a random edge between the same layers are cut one at a time. The "
        "effect is the change of the loss in nats. The first table counts the edges above the 99 % quantile "
        "of the controls, with the number that chance would give, and names the pairs whose edges change more"
        " than random ones, corrected for the number of samples. The circuit has the edges above the quantile"
        " whose weights are beyond chance.",
        markdown_table(header, summary),
        "The OK edges from SmolLM2's strongest previous-token head and to the KV heads of its strongest "
        "induction heads:",
        markdown_table(["input", "L16H0 > L17KV1", "L16H0 > L18KV2", "L17H8 > L18KV2"], three),
        "What finds the edges that matter: area under the ROC curve of pk, of its z and of the local effect "
        f"for an effect above the quantile, and of the local effect for more than {LARGE} nats. A predictor is"
        " judged fairly on the sample that it did not choose.",
        markdown_table(details, rows),
        f"`{told('patch', '--ids IDS.npy --loss-from 33 -o RUN', model='smollm2')}`, "
        f"`{told('patch', '--text-file prose.txt --lines --max-tokens 65 -o RUN', model='smollm2')}`, "
        f"`{told('patch', '--ids IDS.npy --labels LABELS.npy -o RUN', model='rxnfp')}`",
    ])  # fmt: skip


def run() -> str:
    return section(runs())
