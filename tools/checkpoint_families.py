"""The model families: which tables make up a checkpoint, and what its config.json says.

Config keys are those transformers 4 wrote, as most files on the hub have them. In a
config, "$x" stands for symbol x of checkpoint_sizes.symbols(); a key whose symbol is
None is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checkpoint_tables import (
    CLIP_LAYER,
    CLIP_VISION,
    DISTILBERT_LAYER,
    EXPERT,
    GEMMA3_LAYER,
    GEMMA_NORMS,
    GPT2_LAYER,
    GPT_OSS_LAYER,
    GPTJ_LAYER,
    LATENT,
    NEOX_LAYER,
    OPT_LAYER,
    PHI3_LAYER,
    QKVO,
    QWEN2_QKVO,
    QWEN3_LAYER,
    QWEN3_MOE_LAYER,
    RMS_PAIR,
    ROUTER,
    SWIGLU,
    TIMM_LAYER,
    Part,
    bert_parts,
    decoder_parts,
    dino_parts,
    vit_parts,
)


@dataclass(frozen=True)
class Family:
    parts: tuple[Part, ...]
    config: dict[str, Any]
    tied: bool = False
    grouped: bool = False  # may have fewer KV heads than query heads
    free_head_dim: bool = False  # heads * head_dim may differ from d_model
    gated: bool = False  # MLP with a gate: narrower by default
    rotary: bool = False
    images: bool = False
    defaults: dict[str, int] = field(default_factory=dict)


def fill_config(template: Any, symbols: dict[str, Any]) -> Any:
    """The config with its placeholders filled in."""
    if isinstance(template, dict):
        filled = {key: fill_config(value, symbols) for key, value in template.items()}
        return {k: v for k, v in filled.items() if v is not None or template[k] is None}
    if isinstance(template, str) and template.startswith("$"):
        return symbols[template[1:]]
    return template


# --- Config keys, as transformers 4 wrote them --------------------------------------

_SIZES = {"hidden_size": "$D", "num_hidden_layers": "$L", "num_attention_heads": "$H", "intermediate_size": "$M"}
_TEXT = _SIZES | {"vocab_size": "$V", "max_position_embeddings": "$P", "tie_word_embeddings": "$tied"}
_ROPE_RMS = _TEXT | {
    "num_key_value_heads": "$K", "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "bos_token_id": 1, "eos_token_id": 2, "use_cache": True,
}  # fmt: skip
_GEMMA_CONFIG = _ROPE_RMS | {
    "head_dim": "$h", "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6, "attention_bias": False,
    "query_pre_attn_scalar": "$h", "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0,
}  # fmt: skip
_GEMMA3_CONFIG = _GEMMA_CONFIG | {
    "model_type": "gemma3_text", "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
    "rope_scaling": None, "sliding_window": 1024, "sliding_window_pattern": 6,
    "attn_logit_softcapping": None, "final_logit_softcapping": None,
}  # fmt: skip
_GPT2_CONFIG = {
    "n_embd": "$D", "n_layer": "$L", "n_head": "$H", "n_inner": "$own_M", "n_positions": "$P", "n_ctx": "$P",
    "vocab_size": "$V", "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    "bos_token_id": 50256, "eos_token_id": 50256, "tie_word_embeddings": "$tied",
}  # fmt: skip
_BERT_CONFIG = _SIZES | {
    "vocab_size": "$V", "max_position_embeddings": "$P", "hidden_act": "gelu", "layer_norm_eps": 1e-12,
    "type_vocab_size": 2, "pad_token_id": 0, "position_embedding_type": "absolute",
}  # fmt: skip
_IMAGE = {"image_size": "$image", "patch_size": "$patch", "num_channels": 3}
_VIT_CONFIG = _SIZES | _IMAGE | {"hidden_act": "gelu", "layer_norm_eps": 1e-12, "qkv_bias": True}
_CLASSIFIER_CONFIG = _VIT_CONFIG | {"id2label": "$id2label", "label2id": "$label2id"}
_CLIP_VISION_CONFIG = _SIZES | _IMAGE | {
    "model_type": "clip_vision_model", "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
    "projection_dim": "$projection",
}  # fmt: skip
_CLIP_TEXT_CONFIG = {
    "model_type": "clip_text_model", "hidden_size": "$other_D", "num_hidden_layers": "$other_L",
    "num_attention_heads": "$other_H", "intermediate_size": "$other_M", "vocab_size": "$V",
    "max_position_embeddings": "$P", "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
    "projection_dim": "$projection",
}  # fmt: skip
_SIGLIP_CONFIG = _IMAGE | {
    "model_type": "siglip_vision_model", "hidden_size": "$other_D", "num_hidden_layers": "$other_L",
    "num_attention_heads": "$other_H", "intermediate_size": "$other_M", "vision_use_head": False,
}  # fmt: skip
_DINO_CONFIG = {k: v for k, v in _VIT_CONFIG.items() if k != "intermediate_size"} | {
    "mlp_ratio": "$mlp_ratio", "layer_norm_eps": 1e-6, "layerscale_value": 1.0, "use_swiglu_ffn": False,
}  # fmt: skip


def named(architecture: str, model_type: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"architectures": [architecture], "model_type": model_type} | config | more


# --- The families -------------------------------------------------------------------

_ROPE = {"rotary": True}
_LLAMA_LIKE = _ROPE | {"grouped": True, "gated": True, "free_head_dim": True}
_FIXED_WIDTH = _ROPE | {"grouped": True, "gated": True}
_IMAGES: dict[str, Any] = {"images": True, "defaults": {"image": 224, "patch": 16}}
_DINO: dict[str, Any] = {"images": True, "defaults": {"image": 518, "patch": 14}}

FAMILIES: dict[str, Family] = {
    "gpt2": Family(
        (Part("", "matrix wte V D\n matrix wpe P D"), Part("h.{i}.", GPT2_LAYER, "L"), Part("", "norm ln_f D")),
        named("GPT2LMHeadModel", "gpt2", _GPT2_CONFIG, scale_attn_weights=True),
        tied=True, defaults={"vocab": 50257, "positions": 1024},
    ),
    "gpt_neox": Family(
        (
            Part("gpt_neox.", "matrix embed_in V D"),
            Part("gpt_neox.layers.{i}.", NEOX_LAYER, "L"),
            Part("gpt_neox.", "norm final_layer_norm D"),
            Part("", "head embed_out V D"),
        ),
        named("GPTNeoXForCausalLM", "gpt_neox", _TEXT, rotary_pct=0.25, rotary_emb_base=10000, hidden_act="gelu",
              layer_norm_eps=1e-5, use_parallel_residual=True, bos_token_id=0, eos_token_id=0),
        defaults={"vocab": 50304, "positions": 2048}, **_ROPE,
    ),
    "gptj": Family(
        (
            Part("transformer.", "matrix wte V D"),
            Part("transformer.h.{i}.", GPTJ_LAYER, "L"),
            Part("transformer.", "norm ln_f D"),
            Part("", "linear lm_head V D"),
        ),
        named("GPTJForCausalLM", "gptj", _GPT2_CONFIG, rotary=True, rotary_dim="$rotary_dim"),
        defaults={"vocab": 50400, "positions": 2048}, **_ROPE,
    ),
    "opt": Family(
        (
            Part("model.decoder.", "matrix embed_tokens V D\n matrix embed_positions P+2 D\n norm final_layer_norm D"),
            Part("model.decoder.layers.{i}.", OPT_LAYER, "L"),
        ),
        named("OPTForCausalLM", "opt", {k: v for k, v in _TEXT.items() if k != "intermediate_size"}, ffn_dim="$M",
              word_embed_proj_dim="$D", do_layer_norm_before=True, activation_function="relu", enable_bias=True,
              layer_norm_elementwise_affine=True, bos_token_id=2, eos_token_id=2, pad_token_id=1),
        tied=True, defaults={"vocab": 50272, "positions": 2048},
    ),
    "llama": Family(
        decoder_parts(QKVO + SWIGLU + RMS_PAIR),
        named("LlamaForCausalLM", "llama", _ROPE_RMS, head_dim="$own_h", attention_bias=False, mlp_bias=False,
              pretraining_tp=1, rope_scaling=None),
        defaults={"vocab": 128256, "positions": 8192}, **_LLAMA_LIKE,
    ),
    "deepseek_v3": Family(
        (
            Part("model.", "matrix embed_tokens V D"),
            Part("model.layers.{i}.", LATENT + RMS_PAIR, "L"),
            Part("model.layers.{i}.", SWIGLU, "dense"),
            Part("model.layers.{i}.", ROUTER, "L", first="dense"),
            Part("model.layers.{i}.mlp.experts.{e}.", EXPERT, "L", each="E", first="dense"),
            Part("model.", "rms norm D"),
            Part("", "head lm_head V D"),
        ),
        named("DeepseekV3ForCausalLM", "deepseek_v3", _ROPE_RMS, attention_bias=False, q_lora_rank="$q_rank",
              kv_lora_rank="$kv_rank", qk_nope_head_dim="$h", qk_rope_head_dim="$R", v_head_dim="$h",
              first_k_dense_replace="$dense", n_routed_experts="$E", n_shared_experts=1, moe_intermediate_size="$X",
              num_experts_per_tok=2, n_group=1, topk_group=1, norm_topk_prob=True, routed_scaling_factor=2.5,
              scoring_func="sigmoid", topk_method="noaux_tc", rms_norm_eps=1e-6),
        gated=True, free_head_dim=True, rotary=True, defaults={"vocab": 129280, "positions": 4096},
    ),
    "mistral": Family(
        decoder_parts(QKVO + SWIGLU + RMS_PAIR),
        named("MistralForCausalLM", "mistral", _ROPE_RMS, head_dim="$own_h", sliding_window=4096),
        defaults={"vocab": 32000, "positions": 32768}, **_LLAMA_LIKE,
    ),
    "qwen2": Family(
        decoder_parts(QWEN2_QKVO + SWIGLU + RMS_PAIR),
        named("Qwen2ForCausalLM", "qwen2", _ROPE_RMS, rope_theta=1000000.0, rms_norm_eps=1e-6,
              use_sliding_window=False, sliding_window=131072, max_window_layers="$L"),
        defaults={"vocab": 152064, "positions": 32768}, **_FIXED_WIDTH,
    ),
    "qwen3": Family(
        decoder_parts(QWEN3_LAYER),
        named("Qwen3ForCausalLM", "qwen3", _ROPE_RMS, head_dim="$h", attention_bias=False, rope_theta=1000000.0,
              rms_norm_eps=1e-6, use_sliding_window=False, sliding_window=None, max_window_layers="$L",
              rope_scaling=None),
        defaults={"vocab": 151936, "positions": 40960}, **_LLAMA_LIKE,
    ),
    "qwen3_moe": Family(
        (*decoder_parts(QWEN3_MOE_LAYER), Part("model.layers.{i}.mlp.experts.{e}.", EXPERT, "L", each="E")),
        named("Qwen3MoeForCausalLM", "qwen3_moe", _ROPE_RMS, head_dim="$h", attention_bias=False, rope_theta=1000000.0,
              rms_norm_eps=1e-6, use_sliding_window=False, sliding_window=None, rope_scaling=None, num_experts="$E",
              num_experts_per_tok="$chosen", moe_intermediate_size="$X", norm_topk_prob=True, decoder_sparse_step=1,
              mlp_only_layers=[]),
        defaults={"vocab": 151936, "positions": 40960}, **_LLAMA_LIKE,
    ),
    "gpt_oss": Family(
        decoder_parts(GPT_OSS_LAYER),
        named("GptOssForCausalLM", "gpt_oss", _ROPE_RMS, head_dim="$h", attention_bias=True, rope_theta=150000.0,
              sliding_window=128, num_local_experts="$E", num_experts_per_tok="$chosen", swiglu_limit=7.0,
              rope_scaling={"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                            "truncate": False, "original_max_position_embeddings": 4096}),
        defaults={"vocab": 201088, "positions": 131072}, **_LLAMA_LIKE,
    ),
    "phi3": Family(
        decoder_parts(PHI3_LAYER),
        named("Phi3ForCausalLM", "phi3", _ROPE_RMS, original_max_position_embeddings="$P", sliding_window=2047,
              rope_scaling=None, pad_token_id=0),
        defaults={"vocab": 32064, "positions": 4096}, **_FIXED_WIDTH,
    ),
    "gemma2": Family(
        decoder_parts(QKVO + SWIGLU + GEMMA_NORMS, norm="offset"),
        named("Gemma2ForCausalLM", "gemma2", _GEMMA_CONFIG, attn_logit_softcapping=50.0,
              final_logit_softcapping=30.0, sliding_window=4096, hidden_act="gelu_pytorch_tanh"),
        tied=True, defaults={"vocab": 256000, "positions": 8192}, **_LLAMA_LIKE,
    ),
    "gemma3_text": Family(
        decoder_parts(GEMMA3_LAYER, norm="offset"),
        named("Gemma3ForCausalLM", "gemma3_text", _GEMMA3_CONFIG),
        tied=True, defaults={"vocab": 262144, "positions": 32768}, **_LLAMA_LIKE,
    ),
    "gemma3": Family(
        (
            *decoder_parts(GEMMA3_LAYER, "offset", "language_model.model.", "language_model.lm_head"),
            Part("multi_modal_projector.", "param mm_input_projection_weight other_D D"),
            Part("multi_modal_projector.", "offset mm_soft_emb_norm D", other=True),
            Part("vision_tower.vision_model.embeddings.",
                 "linear patch_embedding D 3 patch patch\n matrix position_embedding N D", other=True),
            Part("vision_tower.vision_model.encoder.layers.{i}.", CLIP_LAYER, "L", other=True),
            Part("vision_tower.vision_model.", "norm post_layernorm D", other=True),
        ),
        named("Gemma3ForConditionalGeneration", "gemma3",
              {"text_config": _GEMMA3_CONFIG, "vision_config": _SIGLIP_CONFIG, "mm_tokens_per_image": "$mm_tokens",
               "boi_token_index": 255999, "eoi_token_index": 256000, "image_token_index": 262144}),
        tied=True, images=True, **_LLAMA_LIKE,
        defaults={"vocab": 262208, "positions": 131072, "image": 896, "patch": 14},
    ),
    "bert": Family(
        bert_parts("bert.", 2, """
            param  cls.predictions.bias                V
            linear cls.predictions.transform.dense     D D
            norm   cls.predictions.transform.LayerNorm D"""),
        named("BertForMaskedLM", "bert", _BERT_CONFIG), defaults={"vocab": 30522, "positions": 512},
    ),
    "roberta": Family(
        bert_parts("roberta.", 1, "param lm_head.bias V\n linear lm_head.dense D D\n norm lm_head.layer_norm D"),
        named("RobertaForMaskedLM", "roberta", _BERT_CONFIG, layer_norm_eps=1e-5, type_vocab_size=1,
              pad_token_id=1, bos_token_id=0, eos_token_id=2),
        defaults={"vocab": 50265, "positions": 514},
    ),
    "distilbert": Family(
        (
            Part("distilbert.embeddings.",
                 "matrix word_embeddings V D\n matrix position_embeddings P D\n norm LayerNorm D"),
            Part("distilbert.transformer.layer.{i}.", DISTILBERT_LAYER, "L"),
            Part("", "linear vocab_transform D D\n norm vocab_layer_norm D\n param vocab_projector.bias V"),
        ),
        named("DistilBertForMaskedLM", "distilbert",
              {"dim": "$D", "n_layers": "$L", "n_heads": "$H", "hidden_dim": "$M", "vocab_size": "$V",
               "max_position_embeddings": "$P", "activation": "gelu", "pad_token_id": 0,
               "sinusoidal_pos_embds": False, "tie_weights_": True}),
        defaults={"vocab": 30522, "positions": 512},
    ),
    "vit": Family(
        vit_parts("vit.", "N+1"), named("ViTForImageClassification", "vit", _CLASSIFIER_CONFIG), **_IMAGES
    ),
    "deit": Family(
        vit_parts("deit.", "N+2", "param distillation_token 1 1 D"),
        named("DeiTForImageClassification", "deit", _CLASSIFIER_CONFIG), **_IMAGES,
    ),
    "clip": Family(
        (
            Part("text_model.embeddings.", "matrix token_embedding V D\n matrix position_embedding P D", other=True),
            Part("text_model.encoder.layers.{i}.", CLIP_LAYER, "L", other=True),
            Part("text_model.", "norm final_layer_norm D", other=True),
            *CLIP_VISION,
            Part("", "matrix visual_projection projection D\n param logit_scale"),
            Part("", "matrix text_projection projection D", other=True),
        ),
        named("CLIPModel", "clip", {"vision_config": _CLIP_VISION_CONFIG, "text_config": _CLIP_TEXT_CONFIG,
                                    "projection_dim": "$projection", "logit_scale_init_value": 2.6592}),
        images=True, defaults={"image": 224, "patch": 14, "vocab": 49408, "positions": 77},
    ),
    "clip_vision_model": Family(
        CLIP_VISION, named("CLIPVisionModel", "clip_vision_model", _CLIP_VISION_CONFIG),
        images=True, defaults={"image": 224, "patch": 14},
    ),
    "dinov2": Family(dino_parts(), named("Dinov2Model", "dinov2", _DINO_CONFIG), **_DINO),
    "dinov2_with_registers": Family(
        dino_parts("param register_tokens 1 registers D"),
        named("Dinov2WithRegistersModel", "dinov2_with_registers", _DINO_CONFIG, num_register_tokens="$registers"),
        **_DINO,
    ),
    "timm_vit": Family(
        (
            Part("", "param cls_token 1 1 D\n param pos_embed 1 N+1 D\n linear patch_embed.proj D 3 patch patch"),
            Part("blocks.{i}.", TIMM_LAYER, "L"),
            Part("", "norm norm D\n linear head classes D"),
        ),
        {"architecture": "vit_base_patch16_224", "num_classes": "$classes", "num_features": "$D",
         "global_pool": "token",
         "model_args": {"img_size": "$image", "patch_size": "$patch", "embed_dim": "$D", "depth": "$L",
                        "num_heads": "$H", "mlp_ratio": "$mlp_ratio"}},
        **_IMAGES,
    ),
}  # fmt: skip
