#pragma once

#include "headscope/model/family.h"
#include "model/expert_names.h"

namespace headscope {

/// The names llama.cpp uses for every family it converts.
[[nodiscard]] inline Layout gguf_layout(Fusion fusion) {
  Layout layout{.fusion = fusion,
                .q = "blk.{i}.attn_q",
                .k = "blk.{i}.attn_k",
                .v = "blk.{i}.attn_v",
                .o = "blk.{i}.attn_output",
                .norm = "blk.{i}.attn_norm",
                .q_norm = "blk.{i}.attn_q_norm",
                .embedding = {"token_embd.weight"},
                .unembedding = {"output.weight"},
                .forward = {.positions = "position_embd.weight",
                            .k_norm = "blk.{i}.attn_k_norm",
                            .mlp_norm = "blk.{i}.ffn_norm",
                            .mlp = {{.up = "blk.{i}.ffn_up", .gate = "blk.{i}.ffn_gate", .down = "blk.{i}.ffn_down"},
                                    {.up = "blk.{i}.ffn_up", .down = "blk.{i}.ffn_down"}},
                            .experts = gguf_experts(),
                            .final_norm = "output_norm",
                            .unembedding_bias = "output.bias"}};
  if (fusion != Fusion::kNone) {
    layout.q = "blk.{i}.attn_qkv";
    layout.k = layout.v = "";
  }
  return layout;
}

/// Gemma 2 and 3. The converter has already added the 1 to every gain.
[[nodiscard]] inline Layout gguf_gemma_layout() {
  Layout layout = gguf_layout(Fusion::kNone);
  layout.output_scale = "blk.{i}.post_attention_norm.weight";
  layout.forward.norm_after_attention = "blk.{i}.post_attention_norm";
  layout.forward.norm_after_mlp = "blk.{i}.post_ffw_norm";
  return layout;
}

/// OLMo 2: norms only on the outputs of the branches, and over the queries and keys of all heads.
[[nodiscard]] inline Layout gguf_olmo2_layout() {
  Layout layout = gguf_gemma_layout();
  layout.norm = layout.forward.mlp_norm = "";
  layout.joint_head_norms = true;
  return layout;
}

/// The BERT family: attn_output_norm follows the heads and is not folded.
[[nodiscard]] inline Layout gguf_post_norm_layout() {
  Layout layout = gguf_layout(Fusion::kNone);
  layout.norm = "";
  layout.forward.token_types = "token_types.weight";
  layout.forward.embedding_norm = "token_embd_norm";
  layout.forward.norm_after_attention = "blk.{i}.attn_output_norm";
  layout.forward.norm_after_mlp = "blk.{i}.layer_output_norm";
  layout.forward.mlp_norm = layout.forward.final_norm = "";
  layout.forward.no_unembedding = true;
  return layout;
}

}  // namespace headscope
