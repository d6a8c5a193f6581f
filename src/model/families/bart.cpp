#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// Also PLBart, which is BART for code, and the language model of Florence-2.
Family bart() {
  Family family = bart_family("bart", "Bart");
  family.model_types = {"bart", "plbart", "florence2_language"};
  family.architectures.push_back("PLBart");
  family.order = NormOrder::kPost;
  family.layouts = {bart_post_norm_layout()};
  return family;
}

}  // namespace headscope::families
