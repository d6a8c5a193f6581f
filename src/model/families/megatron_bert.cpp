#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// BERT with norms before the branches.
Family megatron_bert() {
  Layout layout = bert_layout("bert.");
  layout.norm = "encoder.layer.{i}.attention.ln";
  layout.forward.embedding_norm = "";
  layout.forward.norm_after_attention = layout.forward.norm_after_mlp = "";
  layout.forward.mlp_norm = "encoder.layer.{i}.ln";
  layout.forward.final_norm = "encoder.ln";
  return {.name = "megatron_bert",
          .model_types = {"megatron-bert"},
          .architectures = {"MegatronBert"},
          .causal = false,
          .forward = {.epsilon = 1e-12},
          .layouts = {layout}};
}

}  // namespace headscope::families
