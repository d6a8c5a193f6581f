#pragma once

#include <cstddef>

#include "headscope/model/head_sizes.h"
#include "headscope/model/role.h"

namespace headscope {

// Layers are counted block by block (`HeadSizes`), but in a decoder self-attention and cross-attention take turns. A
// step is the place of a layer in the order in which layers run: first those of the encoder, then decoder.L0, cross.L0,
// decoder.L1, ... In a model of one block, steps are layers.

/// The step of a layer, and its inverse.
[[nodiscard]] std::size_t step_of(const HeadSizes& sizes, std::size_t layer) noexcept;
[[nodiscard]] std::size_t layer_at(const HeadSizes& sizes, std::size_t step) noexcept;

/// Steps [begin, end) of one residual stream.
struct StepRange {
  std::size_t begin;
  std::size_t end;

  [[nodiscard]] bool empty() const noexcept { return begin == end; }
  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }

  friend bool operator==(const StepRange&, const StepRange&) = default;
};

/// The steps whose layers write what a role of a layer reads: all earlier ones of its stream. K and V of
/// cross-attention read what the whole encoder writes. The same pairs of layers as `precedes` from O to the role.
[[nodiscard]] StepRange steps_before(const HeadSizes& sizes, std::size_t layer, Role role) noexcept;

}  // namespace headscope
