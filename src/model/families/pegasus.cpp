#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// mBART with fixed positions, which files may contain, and without a norm of the embedding.
Family pegasus() {
  Family family = bart_family();
  family.name = "pegasus";
  family.model_types = {"pegasus"};
  family.architectures = {"Pegasus"};
  family.position = PositionKind::kSinusoidal;
  family.forward.position_offset = 0;
  Layout layout = bart_layout();
  for (Layout* one : {&layout, &layout.decoder[0]}) one->forward.embedding_norm = "";
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
