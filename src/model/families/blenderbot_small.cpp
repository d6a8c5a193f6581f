#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// BART without the offset of positions. The decoder normalizes the embeddings before it adds them.
Family blenderbot_small() {
  Family family = bart_family("blenderbot_small", "BlenderbotSmall");
  family.model_types = {"blenderbot-small"};
  family.order = NormOrder::kPost;
  family.position = PositionKind::kLearned;
  family.forward.position_offset = 0;
  Layout layout = bart_post_norm_layout();
  layout.decoder[0].forward.norm_before_positions = true;
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
