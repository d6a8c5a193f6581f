#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "forward/bias_table.h"
#include "forward/rotary_table.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What attention needs of the positions of all inputs of a stack: one table per length or grid, since some scalings
/// depend on it.
class PositionTables {
 public:
  /// `bias` and `causal` are those of the stack.
  PositionTables(const Model& model, const Network& network, const ScoreBias& bias, bool causal,
                 std::span<const InputShape> shapes);

  /// The rotation of a layer's queries and keys; an empty table if there is none. Tokens of two stacks have no
  /// positions relative to each other.
  [[nodiscard]] const RotaryTable& rotary(const NetworkLayer& layer, const InputShape& shape) const;
  /// What is added to a layer's scores; nullptr if there is nothing.
  [[nodiscard]] const BiasTable* bias(const NetworkLayer& layer, const InputShape& shape) const;

 private:
  std::map<std::size_t, RotaryTable> by_length_;
  std::map<std::size_t, RotaryTable> local_by_length_;
  std::map<PatchGrid, RotaryTable> by_grid_;  // empty unless the family rotates by rows and columns of patches
  std::map<std::size_t, BiasTable> biases_;
};

}  // namespace headscope
