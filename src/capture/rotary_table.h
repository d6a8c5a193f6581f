#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/matrix.h"
#include "headscope/model/rotary.h"

namespace headscope {

/// Cosines and sines of every position of an input, one row a position, one column a pair.
class RotaryTable {
 public:
  RotaryTable() = default;
  RotaryTable(const Rotary& rotary, std::size_t length);

  /// Turns one head's query or key at `position`, in place. Does nothing for a table of no pairs.
  void turn(std::size_t position, float* head) const;
  [[nodiscard]] bool empty() const noexcept { return cosine_.columns() == 0; }

 private:
  bool interleaved_ = false;
  Matrix cosine_;
  Matrix sine_;
};

}  // namespace headscope
