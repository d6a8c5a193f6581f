#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// BART with the norms before the branches.
Family mbart() {
  Family family = bart_family("mbart", "MBart");
  family.layouts = {bart_layout()};
  return family;
}

}  // namespace headscope::families
