#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// BART for code.
Family plbart() {
  Family family = bart_family();
  family.name = "plbart";
  family.model_types = {"plbart"};
  family.architectures = {"PLBart"};
  family.order = NormOrder::kPost;
  family.layouts = {bart_post_norm_layout()};
  return family;
}

}  // namespace headscope::families
