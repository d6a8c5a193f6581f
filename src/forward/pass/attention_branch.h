#pragma once

#include <cstddef>
#include <optional>

#include "forward/pass/pass.h"
#include "forward/pass/stack.h"
#include "forward/weights.h"

namespace headscope {

/// Computes the attention of a layer: from `stack.read` to `stack.written`. Passes maps and outputs of heads to those
/// who asked. `norm` is the one before attention. After the last layer only the requested rows are kept.
void run_attention(Pass& pass, Stack& stack, std::size_t layer, const std::optional<Norm>& norm);

}  // namespace headscope
