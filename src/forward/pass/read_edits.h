#pragma once

#include <array>
#include <optional>

#include "forward/head_columns.h"
#include "forward/pass/pass.h"
#include "forward/pass/stack.h"
#include "forward/weights.h"

namespace headscope {

/// Computes the columns of edited heads (`ForwardOptions::edits`) again, from what they read now: the stream plus its
/// change, through the norm before attention.
/// \throws Error  kInvalidArgument if there is no such head, or the change has another shape than the input.
void apply_read_edits(const Pass& pass, const Stack& stack, const NetworkLayer& layer, const std::optional<Norm>& norm,
                      const std::array<HeadColumns, 3>& columns);

}  // namespace headscope
