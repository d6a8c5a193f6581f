#pragma once

#include <cstddef>
#include <optional>

#include "headscope/capture/detectors.h"
#include "headscope/model/block.h"

namespace headscope {

/// Attention that detectors score: which of them apply, and to which key of a query each looks.
///
/// Queries are `skip` tokens (BOS, or the token that decoding starts with) and a sequence. Keys are the same, or in
/// cross-attention those of the source, of which the sequence is a copy.
struct DetectedAttention {
  Block block = Block::kOnly;
  bool causal = false;
  bool has_sequence = true;      ///< Not images and audio: their tokens do not repeat.
  bool copies = true;            ///< Of cross-attention: whether the keys have the sequence, too.
  std::size_t length = 0;        ///< Tokens of the sequence; the second half repeats the first.
  std::size_t skip = 0;          ///< Queries before it, which are not scored.
  std::size_t skipped_keys = 0;  ///< Keys before it; the same, except in cross-attention.
  std::size_t keys = 0;          ///< Number of keys.

  [[nodiscard]] bool applies(Detector detector) const noexcept;
  /// The key whose attention the detector scores; nothing if it does not score the query.
  [[nodiscard]] std::optional<std::size_t> key(Detector detector, std::size_t query) const noexcept;
  /// The score of attention that is the same for all visible keys.
  [[nodiscard]] double chance(Detector detector) const noexcept;
};

}  // namespace headscope
