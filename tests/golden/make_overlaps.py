"""Writes tests/golden/overlaps.json: overlaps between the components of checkpoints in tests/golden/checkpoints.

    python tests/golden/make_overlaps.py        # needs numpy and safetensors

The heads are those of expected.npz, sliced from live PyTorch modules. MLPs, embeddings and unembeddings are read by
name here, folded as docs/relate.md says, and compared as dense d x d matrices in float64. Each case has, per pair of
roles, the matrix of overlaps; null where the source does not come before the target.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

FOLDER = pathlib.Path(__file__).parent

# up: rows are what neurons read; down: columns are what they write, unless `transposed`. gain: 1 is added by Gemma.
CASES = {
    "gpt2": {"layer": "transformer.h.{}.", "up": ["mlp.c_fc"], "down": "mlp.c_proj", "norm": "ln_2",
             "final": "transformer.ln_f", "embedding": "transformer.wte", "unembedding": "transformer.wte",
             "positions": "transformer.wpe.weight", "transposed": True, "centered": True},
    "gptj": {"layer": "transformer.h.{}.", "up": ["mlp.fc_in"], "down": "mlp.fc_out", "norm": "ln_1",
             "final": "transformer.ln_f", "embedding": "transformer.wte", "unembedding": "lm_head", "centered": True,
             "parallel": True},
    "gemma2": {"layer": "model.layers.{}.", "up": ["mlp.gate_proj", "mlp.up_proj"], "down": "mlp.down_proj",
               "norm": "pre_feedforward_layernorm", "after": "post_feedforward_layernorm", "final": "model.norm",
               "embedding": "model.embed_tokens", "unembedding": "model.embed_tokens", "offset": 1},
    "phi3": {"layer": "model.layers.{}.", "up": ["mlp.gate_up_proj"], "down": "mlp.down_proj",
             "norm": "post_attention_layernorm", "final": "model.norm", "embedding": "model.embed_tokens",
             "unembedding": "lm_head"},
    "opt": {"layer": "model.decoder.layers.{}.", "up": ["fc1"], "down": "fc2", "norm": "final_layer_norm",
            "final": "model.decoder.final_layer_norm", "embedding": "model.decoder.embed_tokens",
            "unembedding": "model.decoder.embed_tokens", "positions": "model.decoder.embed_positions.weight",
            "first_position": 2, "centered": True},
    "dinov2": {"layer": "encoder.layer.{}.", "up": ["mlp.fc1"], "down": "mlp.fc2", "norm": "norm2",
               "scale": "layer_scale2.lambda1", "patches": "embeddings.patch_embeddings.projection.weight",
               "positions": "embeddings.position_embeddings", "centered": True},
    "distilbert": {"layer": "distilbert.transformer.layer.{}.", "up": ["ffn.lin1"], "down": "ffn.lin2",
                   "embedding": "distilbert.embeddings.word_embeddings",
                   "positions": "distilbert.embeddings.position_embeddings.weight"},
}


def density(vectors):
    """Of a matrix whose rows are vectors."""
    gram = vectors.T @ vectors
    return gram / np.trace(gram)


def processed(vectors, gain, centered):
    vectors = vectors * gain
    return vectors - vectors.mean(axis=1, keepdims=True) if centered else vectors


def over_rows(table):
    return table - table.mean(axis=0)


def components(case, folder):
    """Lists of (depth, density): what writes and what reads. Depths are half layers, in the order of the pass."""
    tensors = {name: value.astype(np.float64) for name, value in load_file(folder / "model.safetensors").items()}
    expected = np.load(folder / "expected.npz")
    centered = case.get("centered", False)
    offset = case.get("offset", 0)
    layers, _, d, _ = expected["folded_O"].shape
    writes: dict = {"O": [], "M": []}
    reads: dict = {"Q": [], "M": []}

    def gain(name):
        return tensors[name + ".weight"] + offset

    def turn(matrix):
        return matrix.T if case.get("transposed") else matrix

    if "embedding" in case:
        writes["E"] = [(-1, density(processed(over_rows(tensors[case["embedding"] + ".weight"]), 1, centered)))]
    if "patches" in case:
        writes["E"] = [(-1, density(processed(tensors[case["patches"]].reshape(d, -1).T, 1, centered)))]
    if "positions" in case:
        table = tensors[case["positions"]].reshape(-1, d)[case.get("first_position", 0):]
        writes["P"] = [(-1, density(processed(over_rows(table), 1, centered)))]
    if "unembedding" in case:
        table = over_rows(tensors[case["unembedding"] + ".weight"])
        reads["U"] = [(2 * layers, density(processed(table, gain(case["final"]), centered)))]
    for i in range(layers):
        layer = case["layer"].format(i)
        for role, side in (("O", writes), ("Q", reads)):
            for matrix in expected["folded_" + role][i]:
                side[role].append((2 * i, density(np.linalg.qr(matrix.astype(np.float64))[0].T)))
        up = np.concatenate([turn(tensors[layer + name + ".weight"]) for name in case["up"]])
        down = turn(tensors[layer + case["down"] + ".weight"]).T
        before = gain(layer + case["norm"]) if "norm" in case else 1
        scale = tensors[layer + case["scale"]] if "scale" in case else 1
        if "after" in case:
            scale = gain(layer + case["after"])
        depth = 2 * i + (0 if case.get("parallel") else 1)
        reads["M"].append((depth, density(processed(up, before, centered))))
        writes["M"].append((depth, density(processed(down, scale, centered))))
    return d, writes, reads


def overlaps(name):
    d, writes, reads = components(CASES[name], FOLDER / "checkpoints" / name)
    result = {}
    for source, sources in writes.items():
        for target, targets in reads.items():
            result[source + target] = [
                [float(f"{d * np.sum(a * b):.9g}") if first < last else None for last, b in targets]
                for first, a in sources
            ]
    return result


def main():
    text = json.dumps({name: overlaps(name) for name in CASES}, indent=None, separators=(",", ":"))
    (FOLDER / "overlaps.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
