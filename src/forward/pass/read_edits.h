#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "forward/head_columns.h"
#include "forward/pass/pass.h"
#include "forward/pass/stack.h"
#include "forward/placement.h"
#include "forward/weights.h"

namespace headscope {

/// Computes edited heads (`ForwardOptions::edits`) again, from what they read now: the stream plus its change, through
/// the norm before attention. `columns` are those of all inputs, placed.
/// \throws Error  kInvalidArgument if there is no such head, or the change has another shape than the input.
void apply_read_edits(const Pass& pass, const Stack& stack, std::size_t layer, const std::optional<Norm>& norm,
                      const Placement& placement, const std::array<HeadColumns, 3>& columns);

}  // namespace headscope
