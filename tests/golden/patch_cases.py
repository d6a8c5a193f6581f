"""The models of make_patch.py: what they are, and where the parts of their blocks are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import transformers as hf

from make_forward import Case, rope
from patch_blocks import (
    Block,
    beit_blocks,
    bert_blocks,
    bloom_blocks,
    deberta_blocks,
    deberta_v1_blocks,
    dinov2_blocks,
    dinov3_blocks,
    falcon_h1_blocks,
    gated_blocks,
    gemma3n_blocks,
    gemma4_blocks,
    gemma_blocks,
    gpt2_blocks,
    gpt_neox_blocks,
    granite_blocks,
    latent_blocks,
    lfm2_blocks,
    llama_blocks,
    mpnet_blocks,
    nemotron_h_blocks,
    olmo2_blocks,
    opt_blocks,
    phi3_blocks,
    pixtral_blocks,
    qwen_blocks,
    swin_blocks,
    swinv2_blocks,
    transfo_xl_blocks,
    vit_blocks,
)

SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
TEXT = SIZES | {"intermediate_size": 12, "vocab_size": 32, "max_position_embeddings": 16}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
CAUSAL = TEXT | TOKENS | {"num_key_value_heads": 2}
GROUPED = TEXT | TOKENS | {"num_attention_heads": 4, "num_key_value_heads": 2}
ONE_GROUP = TEXT | TOKENS | {"num_key_value_heads": 1}
GPT2 = {"n_embd": 16, "n_layer": 3, "n_head": 2, "n_inner": 12, "n_positions": 16, "vocab_size": 32}
GPT2 |= {"bos_token_id": 1, "eos_token_id": 2}
GEMMA2: dict[str, Any] = GROUPED | {"head_dim": 6, "query_pre_attn_scalar": 8, "sliding_window": 5}
GEMMA2 |= {"attn_logit_softcapping": 6.0, "final_logit_softcapping": 5.0}
GEMMA4: dict[str, Any] = TEXT | TOKENS | {"head_dim": 4, "global_head_dim": 8, "sliding_window": 5}
GEMMA4 |= {"num_hidden_layers": 4, "layer_types": 2 * ["sliding_attention", "full_attention"]}
GEMMA4 |= {"num_key_value_heads": 1, "vocab_size_per_layer_input": 32}
SHARED = {"num_kv_shared_layers": 2, "hidden_size_per_layer_input": 3, "use_double_wide_mlp": True}
KEYS = {"num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "full_attention"]}
KEYS |= {"num_attention_heads": 4, "num_key_value_heads": 2, "num_global_key_value_heads": 1, "attention_k_eq_v": True}
KEYS |= {"hidden_size_per_layer_input": 0}
GEMMA3N: dict[str, Any] = GROUPED | {"head_dim": 4, "sliding_window": 5, "num_hidden_layers": 4, "laurel_rank": 3}
GEMMA3N |= {"layer_types": 2 * ["sliding_attention", "full_attention"], "num_kv_shared_layers": 1}
GEMMA3N |= {"vocab_size_per_layer_input": 32, "hidden_size_per_layer_input": 3, "altup_num_inputs": 3}
GEMMA3N |= {"activation_sparsity_pattern": [0.5, 0.0, 0.0, 0.0]}
MIXTURE = {"num_hidden_layers": 2, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 4}
MIXTURE |= {"num_local_experts": 3, "num_experts_per_tok": 2}
LFM2 = GROUPED | {"num_hidden_layers": 5, "full_attn_idxs": [0, 2, 3], "block_auto_adjust_ff_dim": False}
LFM2 |= {"tie_word_embeddings": True}
NEMOTRON_H: dict[str, Any] = {k: v for k, v in GROUPED.items() if k != "num_hidden_layers"}
NEMOTRON_H |= {"head_dim": 4, "n_groups": 2, "mamba_num_heads": 4, "mamba_head_dim": 3, "ssm_state_size": 3}
NEMOTRON_H |= {"layers_block_type": ["full_attention", "linear_attention", "mlp", *2 * ["full_attention"], "mlp"]}
GATED = GROUPED | {"head_dim": 8, "layer_types": ["full_attention", "linear_attention", "full_attention"]}
GATED |= {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 4, "linear_value_head_dim": 4}
GATED |= {"num_experts": 0, "mlp_only_layers": [0, 1, 2]}
GRANITE = GROUPED | {"residual_multiplier": 0.4, "attention_multiplier": 0.7, "logits_scaling": 2.0}
FALCON_H1 = GROUPED | {"attention_in_multiplier": 0.8, "attention_out_multiplier": 0.7, "key_multiplier": 0.9}
FALCON_H1 |= {"mamba_n_heads": 4, "mamba_d_head": 4, "mamba_d_ssm": 16, "mamba_d_state": 3, "mamba_n_groups": 2}
LATENT = TEXT | TOKENS | {"kv_lora_rank": 8, "q_lora_rank": 10, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4}
LATENT |= {"v_head_dim": 5, "num_key_value_heads": 2, "first_k_dense_replace": 3}
STABLELM = GROUPED | {"hidden_size": 32, "qk_layernorm": True}
IMAGE = SIZES | {"image_size": 12, "patch_size": 4, "num_channels": 3, "num_labels": 5}
OPT = {k: v for k, v in TEXT.items() if k != "intermediate_size"} | TOKENS | {"ffn_dim": 12}
OPT |= {"word_embed_proj_dim": 16, "do_layer_norm_before": False}
BLOOM = {"hidden_size": 16, "n_layer": 3, "n_head": 2, "vocab_size": 32} | TOKENS
DISENTANGLED: dict[str, Any] = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
RELATIVE = DISENTANGLED | {"max_relative_positions": 6, "type_vocab_size": 0}
DISENTANGLED |= {"position_biased_input": False, "share_att_key": True, "position_buckets": 4}
DISENTANGLED |= {"norm_rel_ebd": "layer_norm"}
SWIN: dict[str, Any] = {"patch_size": 2, "window_size": 2, "mlp_ratio": 1.0, "num_heads": [2, 2], "num_labels": 5}
FIRST = {"image_size": [8, 16], "embed_dim": 16, "depths": [3, 1], "pretrained_window_sizes": [3, 0]}
SECOND = {"image_size": [16, 16], "embed_dim": 8, "depths": [1, 3]}
BIASED = {"use_relative_position_bias": True}


def case(model: str, config: str, options: dict[str, Any], **rest: Any) -> Case:
    return Case(model, lambda: getattr(hf, config)(**options), **{"sharpen": 2.0} | rest)


CASES: dict[str, tuple[Case, Callable[[Any, int], Iterator[Block]]]] = {
    "gpt2": (case("GPT2LMHeadModel", "GPT2Config", GPT2), gpt2_blocks),
    "llama": (case("LlamaForCausalLM", "LlamaConfig", GROUPED | rope("default")), llama_blocks),
    "bert": (case("BertForMaskedLM", "BertConfig", TEXT), bert_blocks),
    "vit": (case("ViTForImageClassification", "ViTConfig", IMAGE | {"intermediate_size": 12}, tokens=0), vit_blocks),
    "gemma2": (case("Gemma2ForCausalLM", "Gemma2Config", GEMMA2), gemma_blocks),
    "qwen3": (case("Qwen3ForCausalLM", "Qwen3Config", GROUPED | {"head_dim": 6}), llama_blocks),
    "gpt_neox": (
        case("GPTNeoXForCausalLM", "GPTNeoXConfig", TEXT | TOKENS | rope("default", partial_rotary_factor=0.5)),
        gpt_neox_blocks,
    ),
    "dinov2": (
        case("Dinov2ForImageClassification", "Dinov2Config", IMAGE | {"mlp_ratio": 1}, tokens=0), dinov2_blocks
    ),
    "mistral": (case("MistralForCausalLM", "MistralConfig", ONE_GROUP | {"sliding_window": 4}), llama_blocks),
    "phi3": (case("Phi3ForCausalLM", "Phi3Config", GROUPED | {"sliding_window": None}), phi3_blocks),
    "opt_post": (case("OPTForCausalLM", "OPTConfig", OPT), opt_blocks),
    "lfm2": (case("Lfm2ForCausalLM", "Lfm2Config", LFM2), lfm2_blocks),
    "nemotron_h": (case("NemotronHForCausalLM", "NemotronHConfig", NEMOTRON_H), nemotron_h_blocks),
    "qwen3_next": (case("Qwen3NextForCausalLM", "Qwen3NextConfig", GATED), gated_blocks),
    "granite": (case("GraniteForCausalLM", "GraniteConfig", GRANITE), granite_blocks),
    "falcon_h1": (case("FalconH1ForCausalLM", "FalconH1Config", FALCON_H1), falcon_h1_blocks),
    "olmo": (case("OlmoForCausalLM", "OlmoConfig", GROUPED | {"clip_qkv": 1.0}), llama_blocks),
    "olmo2": (case("Olmo2ForCausalLM", "Olmo2Config", GROUPED), olmo2_blocks),
    "stablelm": (case("StableLmForCausalLM", "StableLmConfig", STABLELM), llama_blocks),
    # Widths per layer: with shared keys and values and inputs of tokens for every layer; with values that are keys.
    "gemma4": (case("Gemma4ForCausalLM", "Gemma4TextConfig", GEMMA4 | SHARED), gemma4_blocks),
    "gemma4_keys": (case("Gemma4ForCausalLM", "Gemma4TextConfig", GEMMA4 | KEYS), gemma4_blocks),
    # Norms of queries and keys that come after their rotation.
    "hunyuan": (case("HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Config", GROUPED | {"head_dim": 6}), llama_blocks),
    # Several streams, mixed by factors that depend on the token.
    "gemma3n": (case("Gemma3nForCausalLM", "Gemma3nTextConfig", GEMMA3N), gemma3n_blocks),
    # Latent attention, with and without a latent of queries.
    "deepseek_v3": (case("DeepseekV3ForCausalLM", "DeepseekV3Config", LATENT | rope("default")), latent_blocks),
    "deepseek_v2": (
        case("DeepseekV2ForCausalLM", "DeepseekV2Config", LATENT | {"q_lora_rank": None} | rope("default")),
        latent_blocks,
    ),
    # Scores with a bias by distance: of tokens, in buckets, and of patches.
    "bloom": (case("BloomForCausalLM", "BloomConfig", BLOOM), bloom_blocks),
    "mpnet": (case("MPNetForMaskedLM", "MPNetConfig", TEXT), mpnet_blocks),
    "beit": (
        case("BeitForImageClassification", "BeitConfig", IMAGE | {"intermediate_size": 12} | BIASED, tokens=0,
             sharpen=4.0),
        beit_blocks,
    ),
    # Rotary positions of patches.
    "dinov3": (
        case("DINOv3ViTModel", "DINOv3ViTConfig", IMAGE | {"intermediate_size": 12, "num_register_tokens": 1},
             tokens=0, sharpen=4.0),
        dinov3_blocks,
    ),
    "pixtral": (
        case("PixtralVisionModel", "PixtralVisionConfig", IMAGE | {"intermediate_size": 12}, tokens=0, sharpen=1.0),
        pixtral_blocks,
    ),
    # Patches that attend within windows.
    "swin": (case("SwinForImageClassification", "SwinConfig", SWIN | SECOND, tokens=0, sharpen=2.0), swin_blocks),
    "swinv2": (case("Swinv2ForImageClassification", "Swinv2Config", SWIN | FIRST, tokens=0), swinv2_blocks),
    "qwen2_5_vl": (Case("QwenTower", dict, tokens=0), qwen_blocks),
    # Scores that compare queries and keys with relative positions.
    "deberta_v2": (case("DebertaV2ForMaskedLM", "DebertaV2Config", TEXT | DISENTANGLED), deberta_blocks),
    "deberta": (case("DebertaForMaskedLM", "DebertaConfig", TEXT | RELATIVE), deberta_v1_blocks),
    "transfo_xl": (Case("TransfoXLModel", dict), transfo_xl_blocks),
    "gpt_oss": (
        case("GptOssForCausalLM", "GptOssConfig", TEXT | TOKENS | MIXTURE | rope("default"), sharpen=3.0), llama_blocks
    ),
}  # fmt: skip

# Heights and widths of images that are not the squares of the configuration.
IMAGE_SIZES = {"dinov3": (8, 12), "pixtral": (12, 8), "swin": (16, 16), "swinv2": (8, 16), "qwen2_5_vl": (12, 12)}

# The stage, of models that have several, or the tower.
TOWERS = {"swin": "stage2", "swinv2": "stage1"}
