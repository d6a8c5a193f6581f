#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// The names of LLaMA, which many families share.
[[nodiscard]] inline Layout llama_layout() {
  return {.prefixes = {"model.", ""},
          .q = "layers.{i}.self_attn.q_proj",
          .k = "layers.{i}.self_attn.k_proj",
          .v = "layers.{i}.self_attn.v_proj",
          .o = "layers.{i}.self_attn.o_proj",
          .norm = "layers.{i}.input_layernorm",
          .embedding = {"embed_tokens.weight"},
          .unembedding = {"lm_head.weight"}};
}

/// Gemma 2 and 3: gains are stored less 1, and post_attention_layernorm, which elsewhere is
/// the MLP's norm, scales what the heads write.
[[nodiscard]] inline Layout gemma_layout() {
  Layout layout = llama_layout();
  layout.norm_offset = 1;
  layout.output_scale = "layers.{i}.post_attention_layernorm.weight";
  layout.output_scale_offset = 1;
  return layout;
}

}  // namespace headscope
