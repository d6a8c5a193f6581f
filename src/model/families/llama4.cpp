#include "headscope/model/family.h"
#include "model/expert_names.h"
#include "model/llama_layout.h"

namespace headscope::families {

// Llama 4's text model. Layers with rotary positions see only keys of the query's own chunk; the others see all, and
// their queries grow with the position. A token's weight multiplies what its expert reads.
Family llama4() {
  const std::string block = "layers.{i}.feed_forward";
  Layout layout = llama_layout();
  layout.prefixes = {"language_model.model.", "model.language_model.", "model.", ""};
  layout.unembedding.push_back("language_model.lm_head.weight");
  layout.forward.mlp = {{.up = block + ".up_proj", .gate = block + ".gate_proj", .down = block + ".down_proj"}};
  layout.forward.experts = with_shared(experts_in(block, "router"), block + ".shared_expert");
  layout.forward.experts.forms = {{.up = block + ".experts.gate_up_proj",
                                   .down = block + ".experts.down_proj",
                                   .gate_rows = GateRows::kFirstHalf,
                                   .storage = Storage::kInOut}};
  ForwardRules rules = llama_rules(1e-5);
  rules.windows = Windows::kRotated;
  rules.window_key = "attention_chunk_size";
  rules.window = 8192;
  rules.chunks = rules.tempered_queries = rules.bare_head_norms = true;
  rules.rotary_base = 500'000;
  rules.rotary_layers = RotaryLayers::kListed;
  rules.router = {.score = RouterScore::kSigmoid, .chosen = 1, .normalized = false, .weighs_input = true};
  return {.name = "llama4",
          .model_types = {"llama4_text", "llama4"},
          .architectures = {"Llama4For", "Llama4TextModel", "Llama4Model"},
          .nested_config = "text_config",
          .defaults = {.head_dim = 128},
          .bias_key = "attention_bias",
          .remark =
              "layers that no_rope_layers marks with 0, by default every fourth, have no positions; the others see "
              "only keys of the query's own chunk",
          .tied = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kRotaryInterleaved,
          .forward = rules,
          .layouts = {layout}};
}

}  // namespace headscope::families
