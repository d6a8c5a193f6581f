#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

Family bart() {
  Family family = bart_family();
  family.name = "bart";
  family.model_types = {"bart"};
  family.architectures = {"Bart"};
  family.order = NormOrder::kPost;
  family.layouts = {bart_post_norm_layout()};
  return family;
}

}  // namespace headscope::families
