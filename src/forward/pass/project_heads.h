#pragma once

#include <cstddef>

#include "forward/head_columns.h"
#include "forward/pass/pass.h"
#include "forward/pass/stack.h"

namespace headscope {

/// Computes the queries, keys and values of a layer from what the branch reads, before their norms and positions. Keys
/// and values of cross-attention come from the encoder's output; those of layers that have none, from an earlier layer.
[[nodiscard]] LayerHeads project_heads(Pass& pass, const Stack& stack, std::size_t layer);

}  // namespace headscope
