"""Are the attention maps organized, beyond what mask and row values give?"""

from __future__ import annotations

from real_runs import MODELS, organized, told
from texts import TEXTS

from report import markdown_table

ORDER = 5


def run() -> str:
    rows, said = [], []
    for name, title in MODELS.items():
        found = organized(name)
        gains = [one["gain"] for one in found["inputs"]]
        keys = [one["gain_keys"] for one in found["inputs"]]
        gaining = sum(head["gains"] for head in found["sparsity"])
        ranges = [f"{min(values):.2f} to {max(values):.2f}" for values in (gains, keys)]
        alpha = found["network"]["alpha"]["found"]
        rows.append([title, str(len(gains)), *ranges, f"{gaining} of {found['heads']}", f"{alpha:+.2f}"])
        agreement = next(sentence for sentence in found["verdict"] if sentence.startswith("The trees of heads agree"))
        said.append(f"- {title}: {agreement}")
    header = ["model", "texts", "gain over maps with the same mask and row values",
              "gain over maps that also keep the mean attention to each key", "heads that gain", "alpha"]  # fmt: skip
    count = {len(texts) for texts in TEXTS.values()}
    return "\n\n".join([
        f"Coefficients of the tensor Haar transform on the trees that are found, over the range of {max(count)} "
        f"texts per model; a gain of 1 is nothing. A negative "
        "alpha means that no regularity was found.",
        markdown_table(header, rows),
        "How stable the trees of heads are between texts, beside controls:",
        "\n".join(said),
        f"`{told('capture', '--text-file TEXTS --lines --what pattern -o RUN', model='smollm2')}` and `headscope "
        f"organize RUN -o RUN`; the "
        "texts are in `benchmarks/evidence/texts.py`.",
    ])  # fmt: skip
