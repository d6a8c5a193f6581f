#include "model/gpt2_layout.h"

#include "model/gguf_layout.h"

namespace headscope::families {

// Conv1D stores [in, out]. c_proj is square, so a missing transpose raises no shape error: a head's O is a block of
// rows.
Family gpt2() {
  Layout layout = gpt2_layout();
  layout.fusion = Fusion::kBlocks;
  layout.storage = Storage::kInOut;
  layout.q = "h.{i}.attn.c_attn";
  layout.o = "h.{i}.attn.c_proj";
  return {.name = "gpt2",
          .model_types = {"gpt2"},
          .architectures = {"GPT2"},
          .keys = gpt2_keys(),
          .forward = gpt2_rules(),
          .layouts = {layout},
          // The converter transposes Conv1D to [3D, D].
          .gguf = GgufForm{"gpt2", {gguf_layout(Fusion::kBlocks)}, PositionKind::kLearned}};
}

}  // namespace headscope::families
