#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// Also NLLB. As Pegasus, but positions start after that of padding, and their wavelengths end elsewhere.
Family m2m_100() {
  Family family = bart_family("m2m_100", "M2M100");
  family.position = PositionKind::kSinusoidal;
  family.forward.closed_sinusoids = true;
  family.forward.positions_skip_padding = true;
  Layout layout = bart_layout();
  for (Layout* one : {&layout, &layout.decoder[0]}) one->forward.positions = one->forward.embedding_norm = "";
  layout.decoder[0].forward.unembedding_bias = "";
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
