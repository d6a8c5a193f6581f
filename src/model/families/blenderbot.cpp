#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// mBART without a norm of the embedding and without the offset of positions.
Family blenderbot() {
  Family family = bart_family();
  family.name = "blenderbot";
  family.model_types = {"blenderbot"};
  family.architectures = {"Blenderbot"};
  family.position = PositionKind::kLearned;
  family.forward.position_offset = 0;
  Layout layout = bart_layout();
  for (Layout* one : {&layout, &layout.decoder[0]}) one->forward.embedding_norm = "";
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
