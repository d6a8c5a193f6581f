#include "headscope/model/family.h"
#include "model/bart_layout.h"

namespace headscope::families {

// The encoder reads features of audio through two convolutions. Its positions are stored.
Family whisper() {
  Family family = bart_family("whisper", "Whisper");
  family.modality = Modality::kAudio;
  family.position = PositionKind::kLearned;
  family.forward.position_offset = 0;
  Layout layout = bart_layout();
  layout.embedding = {"decoder.embed_tokens.weight"};
  layout.unembedding = {"proj_out.weight"};
  layout.forward.convolutions = {"encoder.conv1", "encoder.conv2"};
  layout.forward.embedding_norm = layout.decoder[0].forward.embedding_norm = "";
  layout.decoder[0].forward.unembedding_bias = "";
  family.layouts = {layout};
  return family;
}

}  // namespace headscope::families
