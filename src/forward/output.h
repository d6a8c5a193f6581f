#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// One input's rows of the residual stream after the last layer.
struct OutputPart {
  std::size_t input;
  MatrixSpan stream;
};

/// Turns the streams of some inputs into the model's output and passes the requested rows to `options.on_output`, some
/// rows at a time. Inputs share each product with the unembedding. Overwrites the streams. Calls `poll` once per input.
/// `longest` is the length of the longest input, `memory` the budget of the whole pass.
void write_output(const Model& model, const Network& network, std::span<const OutputPart> parts,
                  const ForwardOptions& options, std::size_t longest, std::size_t memory, Buffer<float>& scratch,
                  const std::function<void()>& poll);

/// Bytes needed for that, besides the stream and one matrix of weights.
[[nodiscard]] std::size_t output_memory(const Network& network, std::size_t longest, std::size_t memory);

}  // namespace headscope
