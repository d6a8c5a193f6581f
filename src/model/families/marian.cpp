#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// BART with fixed positions and without a norm of the embedding. The two stacks may have embeddings of their own.
Family marian() {
  Family family = bart_family("marian", "Marian");
  family.order = NormOrder::kPost;
  family.position = PositionKind::kSinusoidal;
  family.forward.position_offset = 0;
  Layout layout = bart_post_norm_layout();
  for (Layout* one : {&layout, &layout.decoder[0]}) one->forward.positions = one->forward.embedding_norm = "";
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
