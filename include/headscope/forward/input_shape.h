#pragma once

#include <compare>
#include <cstddef>

#include "headscope/forward/patch_grid.h"

namespace headscope {

/// What positions depend on: the number of tokens of an input and, for an image, the grid of its patches. Tokens
/// before the patches count.
struct InputShape {
  std::size_t tokens = 0;
  PatchGrid grid = {};

  // NOLINTNEXTLINE(modernize-use-nullptr): a false alarm
  friend auto operator<=>(const InputShape&, const InputShape&) = default;
};

class Model;
struct ModelInput;

/// The shape of an input in the only stack of a model, or in its encoder.
/// \throws Error  as `token_count`.
[[nodiscard]] InputShape input_shape(const Model& model, const ModelInput& input);

}  // namespace headscope
