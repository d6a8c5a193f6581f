#include "headscope/run/map_mask.h"

#include <algorithm>

namespace headscope {

MapMask::MapMask(const MapDescription& maps) : causal_(maps.causal), places_(maps.places) {
  const auto at = [](const std::vector<std::size_t>& sizes, std::size_t i) { return i < sizes.size() ? sizes[i] : 0; };
  const std::size_t layers = std::max({maps.windows.size(), maps.chunks.size(), maps.patch_windows.size()});
  for (std::size_t i = 0; i < layers; ++i) {
    const PatchWindows patches = i < maps.patch_windows.size() ? maps.patch_windows[i] : PatchWindows{};
    layers_.push_back({at(maps.windows, i), at(maps.chunks, i), patches});
  }
}

bool MapMask::sees(std::size_t layer, std::size_t query, std::size_t key) const noexcept {
  if (causal_ && key > query) return false;
  if (layer >= layers_.size()) return true;
  const auto& [window, chunk, patches] = layers_[layer];
  if (window > 0 && (key + window <= query || query + window <= key)) return false;
  if (chunk > 0 && key / chunk != query / chunk) return false;
  if (patches.empty() || query >= places_.size() || key >= places_.size()) return true;
  const auto& [row, column] = places_[query];
  const auto& [key_row, key_column] = places_[key];
  return patches.along(row) == patches.along(key_row) && patches.along(column) == patches.along(key_column);
}

}  // namespace headscope
