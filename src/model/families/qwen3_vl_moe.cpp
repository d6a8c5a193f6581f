#include "headscope/model/family.h"

namespace headscope::families {

Family qwen3_moe();

// The text tower of Qwen3-VL with experts. Files have the stacked experts as [in, out]; those that transformers 5
// wrote, as [out, in].
Family qwen3_vl_moe() {
  Family family = qwen3_moe();
  family.name = "qwen3_vl_moe";
  family.model_types = {"qwen3_vl_moe_text", "qwen3_vl_moe"};
  family.architectures = {"Qwen3VLMoeText"};
  family.gguf = std::nullopt;
  family.forward.router.normalized = true;
  family.forward.router.stated = false;
  std::vector<ExpertForm>& forms = family.layouts.front().forward.experts.forms;
  ExpertForm transposed = forms.back();
  transposed.storage = Storage::kInOut;
  forms.push_back(transposed);
  return family;
}

}  // namespace headscope::families
