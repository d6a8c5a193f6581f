#pragma once

#include <cstddef>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/network.h"

namespace headscope {

/// out = Mamba, for the tokens of one input.
void apply_selective_state(const Checkpoint& checkpoint, const SelectiveState& mixer, MatrixView x, MatrixSpan out,
                           Buffer<float>& scratch);

/// out = Mamba 2, for the tokens of one input.
void apply_grouped_state(const Checkpoint& checkpoint, const GroupedState& mixer, MatrixView x, MatrixSpan out,
                         Buffer<float>& scratch);

/// Floats per token that `apply_grouped_state` needs.
[[nodiscard]] std::size_t grouped_state_width(const GroupedState& mixer);

}  // namespace headscope
