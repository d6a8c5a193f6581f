#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// Also without the offset of positions.
Family blenderbot() {
  Family family = bart_family("blenderbot", "Blenderbot");
  family.position = PositionKind::kLearned;
  family.forward.position_offset = 0;
  family.layouts = {bart_layout_without_embedding_norm()};
  return family;
}

}  // namespace headscope::families
