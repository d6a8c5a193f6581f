#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/forward/forward.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// One input, and its tokens in each stack.
struct BatchInput {
  std::size_t index;  ///< As in all calls of `ForwardOptions`: copies are counted.
  const ModelInput* content;
  TokenCounts tokens;

  [[nodiscard]] std::size_t all() const { return tokens.source + tokens.target; }
};

/// Inputs that share each read of the weights.
using Batch = std::vector<BatchInput>;

/// All batches of a pass, and how the memory that is left is used.
struct BatchPlan {
  std::vector<Batch> batches = {};
  std::size_t max_blocks = 1;   ///< Maximum number of blocks of maps held at a time.
  std::size_t output_rows = 1;  ///< Number of rows that share a product with the unembedding.
};

/// Groups inputs, in order, into batches of as many as fit into the memory. Tokens of a source that is not run do not
/// make a batch large. Of `options`, copies and edits count.
/// \throws Error  kFormat if the model cannot be run on an input; kResource if the longest one does not fit.
[[nodiscard]] BatchPlan plan_batches(const Network& network, const HeadSizes& sizes, std::span<const ModelInput> inputs,
                                     const ForwardOptions& options, bool runs_encoder, const Context& context);

/// One input of a batch, and its rows in the matrices of a stack.
struct Member {
  std::size_t input;
  const ModelInput* content;
  std::size_t first;
  std::size_t tokens;
  PatchGrid grid;

  [[nodiscard]] InputShape shape() const { return {tokens, grid}; }
};

/// The rows of a batch in the encoder or only stack (`&TokenCounts::source`) or in the decoder
/// (`&TokenCounts::target`).
[[nodiscard]] std::vector<Member> members_of(const Batch& batch, std::size_t TokenCounts::*tokens,
                                             const NetworkInput& in);

}  // namespace headscope
