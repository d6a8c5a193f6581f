#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/run/map_description.h"

namespace headscope {

/// Which keys a query of a map sees, according to the description of the maps: those up to its own in a causal model,
/// and those of its window or chunk in a layer that has them.
class MapMask {
 public:
  explicit MapMask(const MapDescription& maps);

  /// Whether every query sees every key in all layers.
  [[nodiscard]] bool is_full() const noexcept { return !causal_ && layers_.empty(); }
  /// Whether some layers have windows or chunks, so that layers may differ.
  [[nodiscard]] bool has_windows() const noexcept { return !layers_.empty(); }
  [[nodiscard]] bool sees(std::size_t layer, std::size_t query, std::size_t key) const noexcept;

 private:
  struct Layer {
    std::size_t window = 0;
    std::size_t chunk = 0;
    PatchWindows patches = {};
  };

  bool causal_;
  std::vector<Layer> layers_;                                // empty if none has a window
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // row and column of every token
};

}  // namespace headscope
