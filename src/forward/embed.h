#pragma once

#include <cstddef>

#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// Returns the number of tokens of an input in each stack, including class tokens and registers.
/// \throws Error  kFormat if the model cannot be run on the input.
[[nodiscard]] TokenCounts input_tokens(const Network& network, const ModelInput& input, std::size_t index);

/// Writes an input's rows of the residual stream of the stack that `in` belongs to. The input must have passed
/// `input_tokens`.
void embed(const Model& model, const Network& network, const NetworkInput& in, const ModelInput& input,
           MatrixSpan stream);

}  // namespace headscope
