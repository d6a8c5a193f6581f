#include "headscope/model/family.h"
#include "model/bert_layout.h"

namespace headscope::families {

// All layers have the same weights, or those of one of a few groups. The embedding is narrower than the stream.
Family albert() {
  const std::string layer = "encoder.albert_layer_groups.{i}.albert_layers.0.";
  Layout layout = bert_layout("albert.");
  layout.q = layer + "attention.query";
  layout.k = layer + "attention.key";
  layout.v = layer + "attention.value";
  layout.o = layer + "attention.dense";
  layout.unembedding = {"predictions.decoder.weight"};
  layout.forward.project_in = "encoder.embedding_hidden_mapping_in";
  layout.forward.narrow_embedding = true;
  layout.forward.norm_after_attention = layer + "attention.LayerNorm";
  layout.forward.norm_after_mlp = layer + "full_layer_layer_norm";
  layout.forward.mlp = {{.up = layer + "ffn", .down = layer + "ffn_output"}};
  layout.forward.transform = "predictions.dense";
  layout.forward.transform_norm = "predictions.LayerNorm";
  layout.forward.unembedding_bias = "predictions.bias";
  return {.name = "albert",
          .model_types = {"albert"},
          .architectures = {"Albert"},
          .weight_sets_key = "num_hidden_groups",
          .remark = "the layers share one set of weights, or num_hidden_groups sets",
          .causal = false,
          .order = NormOrder::kPost,
          .forward = {.activation = Activation::kGeluTanh, .epsilon = 1e-12},
          .layouts = {layout}};
}

}  // namespace headscope::families
