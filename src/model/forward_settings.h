#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/model/family.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/rotary.h"
#include "model/find_family.h"

namespace headscope {

/// The settings a forward pass takes from a configuration.
struct ForwardSettings {
  Activation activation = Activation::kGelu;
  double epsilon = 0;
  bool parallel = false;
  double score_scale = 1;
  bool scale_by_layer = false;  ///< Scores of layer i are also divided by i + 1.
  double score_cap = 0;
  double logit_cap = 0;
  std::vector<std::size_t> windows;  ///< By layer; 0: none.
  std::vector<bool> local;           ///< By layer: whether it is a sliding-window layer, which uses `local_rotary` if
                                     ///< the family has one.
  Rotary rotary;
  Rotary local_rotary;
  std::size_t position_offset = 0;
  std::optional<std::size_t> padding;
  bool final_norm = true;
  Pooling pooling = Pooling::kFirst;
  std::size_t image_height = 0;
  std::size_t image_width = 0;
};

/// Reads the settings from config.json or GGUF metadata.
/// \throws Error  kUnsupported for arithmetic that is not implemented, kFormat for invalid values.
[[nodiscard]] ForwardSettings forward_settings(const Checkpoint& checkpoint, const FamilyMatch& match,
                                               const HeadSizes& sizes);

}  // namespace headscope
