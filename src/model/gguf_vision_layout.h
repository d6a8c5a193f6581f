#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// The names of an image tower (mmproj), where O is called attn_out. llama.cpp writes all kinds of towers under one
/// architecture; a LayerNorm has a bias, an RMSNorm does not. Older files call the first tensor of the MLP ffn_down.
[[nodiscard]] inline Layout gguf_vision_layout(Fusion fusion) {
  const bool fused = fusion != Fusion::kNone;
  return {.fusion = fusion,
          .q = fused ? "v.blk.{i}.attn_qkv" : "v.blk.{i}.attn_q",
          .k = fused ? "" : "v.blk.{i}.attn_k",
          .v = fused ? "" : "v.blk.{i}.attn_v",
          .o = "v.blk.{i}.attn_out",
          .norm = "v.blk.{i}.ln1",
          .output_scale = "v.blk.{i}.ls1.weight",
          .output_scale_optional = true,
          .always_has = {"v.blk.{i}.ln1.bias"},
          .forward = {.positions = "v.position_embd.weight",
                      .patches = "v.patch_embd",
                      .mlp_norm = "v.blk.{i}.ln2",
                      .mlp = {{.up = "v.blk.{i}.ffn_up", .down = "v.blk.{i}.ffn_down"},
                              {.up = "v.blk.{i}.ffn_down", .down = "v.blk.{i}.ffn_up"}},
                      .mlp_scale = "v.blk.{i}.ls2.weight",
                      .never_has = {"v.blk.0.attn_q_norm.weight", "v.patch_embd.weight.1"}}};
}

/// CLIP's, which alone has a class token and a norm before the layers.
[[nodiscard]] inline Layout gguf_clip_layout(Fusion fusion) {
  Layout layout = gguf_vision_layout(fusion);
  layout.always_has.push_back("v.class_embd");
  layout.forward.leading = {"v.class_embd"};
  layout.forward.embedding_norm = "v.pre_ln";
  return layout;
}

/// SigLIP's, also that of Gemma 3 and Idefics 3.
[[nodiscard]] inline Layout gguf_siglip_layout() {
  Layout layout = gguf_vision_layout(Fusion::kNone);
  layout.never_has = {"v.class_embd"};
  layout.forward.final_norm = "v.post_ln";
  return layout;
}

}  // namespace headscope
