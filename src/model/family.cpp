#include "headscope/model/family.h"

namespace headscope {

std::string_view to_string(NormKind kind) noexcept {
  return kind == NormKind::kLayerNorm ? "LayerNorm" : "RMSNorm";
}

std::string_view to_string(NormOrder order) noexcept {
  return order == NormOrder::kPre ? "pre" : "post";
}

std::string_view to_string(PositionKind kind) noexcept {
  switch (kind) {
    case PositionKind::kLearned:
      return "learned";
    case PositionKind::kLearnedOffset:
      return "learned, offset 2";
    case PositionKind::kRotaryHalf:
      return "rotary, rotate-half";
    case PositionKind::kRotaryInterleaved:
      return "rotary, interleaved";
    case PositionKind::kAlibi:
      return "ALiBi";
    case PositionKind::kDisentangled:
      return "relative, disentangled";
    case PositionKind::kRelative:
      return "relative";
    case PositionKind::kNone:
      return "none";
    case PositionKind::kRotaryGrid:
      return "rotary, by row and column";
    case PositionKind::kGridBias:
      return "a bias by rows and columns";
    case PositionKind::kRelativeBias:
      return "learned, and a bias by distance";
    case PositionKind::kDistanceBias:
      return "a bias by distance";
    case PositionKind::kSinusoidal:
      return "sinusoidal";
  }
  return "";
}

std::string_view to_string(Modality modality) noexcept {
  switch (modality) {
    case Modality::kText:
      return "text";
    case Modality::kImage:
      return "image";
    case Modality::kAudio:
      return "audio";
  }
  return "";
}

}  // namespace headscope
