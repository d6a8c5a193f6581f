#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/base/buffer.h"
#include "headscope/forward/forward.h"
#include "headscope/model/network.h"

namespace headscope {

/// One input's rows of the residual stream after the last layer: all of them, or those whose output is requested.
struct OutputPart {
  std::size_t input;
  MatrixSpan stream;
  std::size_t first = 0;  ///< Index of the first of these rows.
  std::size_t rows = 0;   ///< Number of the input's rows.
};

/// Turns the streams of some inputs into the model's output and passes the requested rows to `options.on_output`, some
/// at a time. Inputs share products of up to `rows` rows with the unembedding. Overwrites the streams. Calls `poll`
/// once per input.
void write_output(const Model& model, const Network& network, std::span<const OutputPart> parts,
                  const ForwardOptions& options, std::size_t rows, Buffer<float>& scratch,
                  const std::function<void()>& poll);

/// Number of rows that share a product: those of the longest input, or more if `spare` bytes of memory hold their
/// logits; fewer if these would exceed the maps.
[[nodiscard]] std::size_t output_rows(const Network& network, std::size_t longest, std::size_t spare);

/// Bytes needed for that, besides the stream and one matrix of weights.
[[nodiscard]] std::size_t output_memory(const Network& network, std::size_t rows);

}  // namespace headscope
