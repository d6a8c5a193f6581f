#pragma once

#include <cstddef>
#include <functional>

#include "headscope/base/buffer.h"
#include "headscope/capture/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// Turns one input's rows of the residual stream into the model's output and hands it on, some rows at a time.
/// The stream is used up.
void write_output(const Model& model, const Network& network, std::size_t input, MatrixSpan stream,
                  const std::function<void(const OutputRows&)>& receiver, Buffer<float>& scratch);

/// Bytes that takes beside the stream and one matrix of weights.
[[nodiscard]] std::size_t output_memory(const Network& network, std::size_t tokens);

}  // namespace headscope
