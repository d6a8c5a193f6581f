#include "headscope/model/family.h"

namespace headscope::families {

Family opt() {
  Layout layout{.prefixes = {"model.decoder.", "decoder.", ""},
                .q = "layers.{i}.self_attn.q_proj",
                .k = "layers.{i}.self_attn.k_proj",
                .v = "layers.{i}.self_attn.v_proj",
                .o = "layers.{i}.self_attn.out_proj",
                .norm = "layers.{i}.self_attn_layer_norm",
                .embedding = {"embed_tokens.weight"},
                .unembedding = {"lm_head.weight"}};
  return {.name = "opt",
          .model_types = {"opt"},
          .architectures = {"OPTFor", "OPTModel"},
          .pre_norm_key = "do_layer_norm_before",
          .position = PositionKind::kLearnedOffset,
          .layouts = {layout}};
}

}  // namespace headscope::families
