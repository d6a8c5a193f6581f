#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/model/network.h"
#include "headscope/model/rotary.h"

namespace headscope {

/// Cosines and sines for every position of an input: one row per position, one column per pair.
class RotaryTable {
 public:
  RotaryTable() = default;
  RotaryTable(const Rotary& rotary, std::size_t length);
  /// Of the patches of an image and the tokens before them, which are not rotated.
  RotaryTable(const Rotary& rotary, const PatchGrid& grid, std::size_t before);

  /// Rotates one head's query or key at `position`, in place. Does nothing if the table is empty.
  void rotate(std::size_t position, float* head) const;
  [[nodiscard]] bool empty() const noexcept { return cosine_.columns() == 0; }

 private:
  bool interleaved_ = false;
  std::size_t first_ = 0;
  Matrix cosine_;
  Matrix sine_;
};

/// Multiplies the components of a query by what the network's queries grow with their position.
void grow_query(const Network& network, std::size_t position, std::span<float> query);

}  // namespace headscope
