#!/usr/bin/env python3
"""Make the cases of families/ that are hybrids, and those of the youngest families.

They are made as make_families.py makes its own, and hold the same arrays.
Made with torch 2.11.0, transformers 5.17.0, safetensors 0.8.

    python make_more_families.py OUT [--only CASE ...]
"""

from __future__ import annotations

import sys
from typing import Any

import golden_cases
from make_families import (
    BERT,
    GROUPED,
    LATENT,
    LATENT_MIX,
    LAYERS,
    LOCAL,
    MIXED,
    MODERN,
    ROBERTA,
    ROUTED,
    SMALL,
    TEXT,
    Case,
    causal,
    fused,
    latent,
    make_case,
    per_head,
    rope,
    split,
)
from make_hf_checkpoints import start_torch

FOUR = {"num_hidden_layers": 4, "layer_types": 2 * ["linear_attention", "full_attention"]}
# Mamba 2: four heads of four components in two groups.
STATES = {"mamba_n_heads": 4, "mamba_d_head": 4, "mamba_d_state": 3, "mamba_n_groups": 2, "mamba_expand": 2}
NEMOTRON = {k: v for k, v in GROUPED.items() if k != "num_hidden_layers"}
NEMOTRON |= {"head_dim": 6, "mamba_num_heads": 4, "mamba_head_dim": 3, "ssm_state_size": 3, "n_groups": 2}
NEMOTRON |= {"n_routed_experts": 4, "moe_intermediate_size": 4, "moe_shared_expert_intermediate_size": 6}
GRANITE = {"embedding_multiplier": 3.0, "attention_multiplier": 0.2, "residual_multiplier": 0.4, "logits_scaling": 2.5}
FALCON_H1 = {
    "attention_in_multiplier": 0.8,
    "attention_out_multiplier": 0.7,
    "embedding_multiplier": 3.0,
    "key_multiplier": 0.9,
    "lm_head_multiplier": 0.5,
    "mlp_multipliers": [0.9, 0.6],
    "ssm_in_multiplier": 1.2,
    "ssm_multipliers": [0.9, 0.8, 1.1, 0.7, 1.3],
    "ssm_out_multiplier": 0.4,
}
MLLAMA = TEXT | {"num_hidden_layers": 3, "num_key_value_heads": 1, "cross_attention_layers": [1]}
KIMI: dict[str, Any] = LATENT | {"num_hidden_layers": 4, "q_lora_rank": None}
KIMI |= {"linear_head_dim": 4, "linear_num_heads": 2, "mlp_layer_types": 4 * ["dense"], "moe_intermediate_size": 4}
WO = "attn.q_proj attn.k_proj attn.v_proj attn.Wo"

CASES: dict[str, Case] = {
    "bamba": causal("Bamba", GROUPED | STATES | {"num_hidden_layers": 4, "attn_layer_indices": [1, 3]}),
    "granitemoehybrid": causal(
        "GraniteMoeHybrid", LOCAL | FOUR | STATES | GRANITE | {"shared_intermediate_size": 6, "mamba_n_groups": 1}
    ),
    "granitemoehybrid_dense": causal(
        "GraniteMoeHybrid",
        GROUPED | FOUR | STATES | {"shared_intermediate_size": 6, "num_local_experts": 0,
                                   "position_embedding_type": "rope"} | rope(),
    ),
    "falcon_h1": causal("FalconH1", GROUPED | STATES | FALCON_H1 | {"mamba_d_ssm": 16, "mamba_rms_norm": True}),
    "falcon_h1_plain": causal("FalconH1", GROUPED | STATES | {"mamba_d_ssm": 16, "mamba_rms_norm": False}),
    "nemotron_h": causal(
        "NemotronH",
        NEMOTRON | {"layers_block_type": ["linear_attention", "mlp", "full_attention", "moe", "full_attention", "mlp"]},
        split(names="mixer.q_proj mixer.k_proj mixer.v_proj mixer.o_proj", norm="norm"), correction=0.3,
    ),
    "nemotron_h_dense": causal(
        "NemotronH",
        NEMOTRON | {"layers_block_type": ["linear_attention", "mlp", "full_attention", "mlp", "linear_attention"]},
        split(names="mixer.q_proj mixer.k_proj mixer.v_proj mixer.o_proj", norm="norm"),
    ),
    "granitemoeshared": causal("GraniteMoeShared", LOCAL | GRANITE | {"shared_intermediate_size": 6}),
    "ernie4_5_moe": causal(
        "Ernie4_5_Moe",
        SMALL | {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 8, "moe_num_shared_experts": 1} | rope(),
    ),
    "hunyuan_v1_dense": causal("HunYuanDenseV1", SMALL | rope("dynamic", alpha=7.0, factor=1.0)),
    "hunyuan_v1_moe": causal("HunYuanMoEV1", SMALL | {"num_experts": 4, "moe_topk": 2}),
    "minimax_m2": causal(
        "MiniMaxM2", LOCAL | {"head_dim": 6, "rotary_dim": 4} | rope(partial_rotary_factor=4 / 6), correction=0.3
    ),
    "exaone_moe": causal(
        "ExaoneMoe",
        MIXED | LAYERS | ROUTED | {"head_dim": 6, "num_experts": 8, "num_shared_experts": 1}, correction=0.3,
    ),
    "modernbert_decoder": causal(
        "ModernBertDecoder", MODERN | {"local_attention": 6}, split("model.layers", WO, "attn_norm"), norm="layer"
    ),
    "nomic_bert": Case(
        "NomicBertForMaskedLM", "NomicBertConfig", TEXT, split("nomic_bert.layers", norm=""), "post"
    ),
    "mllama": Case("MllamaForCausalLM", "MllamaTextConfig", MLLAMA, split()),
    "longformer": Case(
        "LongformerForMaskedLM", "LongformerConfig", TEXT | ROBERTA | {"attention_window": 4},
        split("longformer.encoder.layer", BERT, ""), "post", runs=False,
    ),
    "deberta": Case(
        "DebertaForMaskedLM", "DebertaConfig",
        TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 6,
                "position_biased_input": False},
        fused("deberta.encoder.layer", "attention.self.in_proj", "attention.output.dense", "", per_head), "post",
    ),
    "kimi_linear": causal(
        "KimiLinear",
        KIMI | {"layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"]},
        latent, runs=False,
    ),
    "deepseek_v32": causal(
        "DeepseekV32",
        LATENT | LATENT_MIX | {"index_n_heads": 2, "index_head_dim": 6, "index_topk": 5}, latent, runs=False,
    ),
}  # fmt: skip


def main() -> int:
    return golden_cases.main(
        __doc__, CASES, lambda name, out: make_case(name, CASES[name], out / name), prepare=start_torch
    )


if __name__ == "__main__":
    sys.exit(main())
