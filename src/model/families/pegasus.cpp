#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// Positions are fixed, without an offset; files may contain them.
Family pegasus() {
  Family family = bart_family("pegasus", "Pegasus");
  family.position = PositionKind::kSinusoidal;
  family.forward.position_offset = 0;
  family.layouts = {bart_layout_without_embedding_norm()};
  return family;
}

}  // namespace headscope::families
