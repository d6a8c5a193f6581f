#pragma once

#include <cstddef>
#include <functional>

#include "headscope/base/buffer.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// Turns one input's rows of the residual stream into the model's output and passes it to `receiver`, some rows at a
/// time. Overwrites the stream.
void write_output(const Model& model, const Network& network, std::size_t input, MatrixSpan stream,
                  const std::function<void(const OutputRows&)>& receiver, Buffer<float>& scratch);

/// Bytes needed for that, besides the stream and one matrix of weights.
[[nodiscard]] std::size_t output_memory(const Network& network, std::size_t tokens);

}  // namespace headscope
