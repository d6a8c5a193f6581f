"""Which MLPs, embeddings and heads are connected?"""

from __future__ import annotations

from harness import headscope, table
from real_runs import MODELS, RUNS, model_path, told

from report import markdown_table

ORDER = 2.5
NODES = "heads,mlp,embedding,position,unembedding"
SHOWN = 2


def has_nodes() -> bool:
    """Whether the program can relate components other than heads."""
    return "--nodes" in headscope("relate", "--help")


def rows_of(name: str) -> list[list[str]]:
    """Per pair of components: how many are beyond chance, and the closest; pairs of heads are in the sections above."""
    folder = RUNS / f"components-{name}"
    headscope("relate", model_path(name), "--nodes", NODES, "--tokens-for", "none", "-o", folder, "--force", "--quiet")
    wiring = {row["pair"]: row for row in table(folder / "component_wiring.csv")}
    edges = table(folder / "component_edges.csv")
    rows = []
    for pair, counts in wiring.items():
        if pair == "all" or (pair[0] == "O" and pair[1] in "QKV"):
            continue
        closest = [row for row in edges if row["pair"] == pair][:SHOWN]
        cell = "; ".join(f"{row['source']} > {row['target']} ({float(row['overlap']):.2f})" for row in closest)
        beyond = f"{int(counts['beyond_chance']):,} of {int(counts['pairs']):,} ({counts['stands_out']})"
        rows.append([MODELS[name], pair, beyond, cell])
    return rows


def run() -> str:
    if not has_nodes():
        return "Not measured: this version relates heads only."
    rows = [row for name in MODELS for row in rows_of(name)]
    return "\n\n".join([
        "E, P and U are the token embedding, the position embedding and the unembedding, M an MLP, O a head's "
        "output; overlap is 1 for unrelated "
        "directions. Pairs beyond chance under random rotations, in parentheses how many stand out. Overlap has no "
        "matched null, so that most "
        "pairs of a trained model are beyond chance: the common directions of its stream are enough. Only what "
        "stands out says more.",
        markdown_table(["model", "pair", "beyond chance", "largest overlap"], rows),
        f"`{told('relate', '--nodes', NODES, '-o RUN', model='smollm2')}`: component_wiring.csv, component_edges.csv.",
    ])  # fmt: skip
