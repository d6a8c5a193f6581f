#pragma once

#include <cstddef>
#include <vector>

namespace headscope {

/// Returns which of `ranks` ranks owns a layer (an index into the selected layers), in zig-zag order: 0, 1, 2, 2, 1, 0,
/// 0, 1, ... Each rank then has about as many pairs of an earlier source with a later target layer (24 layers on four
/// ranks: 69 each; in round-robin order the first rank has 78).
[[nodiscard]] constexpr std::size_t layer_owner(std::size_t layer, std::size_t ranks) noexcept {
  const std::size_t place = layer % ranks;
  return layer / ranks % 2 == 0 ? place : ranks - 1 - place;
}

/// The layers of one rank, ascending.
[[nodiscard]] inline std::vector<std::size_t> layers_of(std::size_t rank, std::size_t ranks, std::size_t layers) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < layers; ++i) {
    if (layer_owner(i, ranks) == rank) own.push_back(i);
  }
  return own;
}

}  // namespace headscope
