#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/capture/pixels.h"
#include "headscope/model/model.h"

namespace headscope {

/// What a model is run on: token ids, or an image.
struct ModelInput {
  std::vector<std::uint32_t> ids = {};
  Pixels pixels = {};
};

/// Some rows of one head's map.
struct MapRows {
  std::size_t input;  ///< Which of the inputs.
  std::size_t layer;
  std::size_t head;         ///< Query head.
  std::size_t first_query;  ///< Of the input's tokens.
  MatrixView values;        ///< One row a query, one column a key; gone when the call returns.
};

/// Some rows of the output.
struct OutputRows {
  std::size_t input;
  std::size_t first_row;  ///< Of the input's tokens; 0 for a classifier, which gives one row.
  std::size_t rows;       ///< How many there are in all.
  MatrixView values;
};

/// What the heads of a layer read out of the values, before O: one row a token, the heads one after another.
struct HeadOutputs {
  std::size_t input;
  std::size_t layer;
  MatrixView values;
};

/// What one head writes instead of what it computes: its output before O, the same for every token.
struct HeadReplacement {
  std::size_t layer;
  std::size_t head;
  std::vector<float> value;  ///< d_head numbers.
};

struct ForwardOptions {
  /// Called for every map row asked for, as soon as it is known, from several threads at once, each row once.
  /// `scores`: scaled (and soft-capped where the family does), before the mask, for all keys.
  /// `pattern`: after the softmax; exactly 0 where the mask hides a key.
  std::function<void(const MapRows&)> on_scores = {};
  std::function<void(const MapRows&)> on_pattern = {};
  /// Whose maps; without it all heads'.
  std::function<bool(std::size_t layer, std::size_t head)> wants_map = {};
  std::size_t first_query = 0;
  std::size_t last_query = std::numeric_limits<std::size_t>::max();  ///< One past it.

  /// Logits, or the last hidden state where the model has no head. Without it the pass ends after the last layer that
  /// something is asked of.
  std::function<void(const OutputRows&)> on_output = {};
  std::function<void(const HeadOutputs&)> on_heads = {};
  std::size_t last_layer = std::numeric_limits<std::size_t>::max();  ///< One past the last layer that is run.

  /// Heads that write something else.
  std::vector<HeadReplacement> replacements = {};

  std::size_t memory = std::size_t{2} << 30;  ///< Bytes to stay within.
  /// Called with the share done, from the calling thread. What it throws ends the pass.
  std::function<void(double)> progress = {};
};

/// Runs a model on each of the inputs in float32: embeddings, blocks, output, as the family computes them. Several
/// inputs share each reading of the weights, which are read one layer at a time and, where they are float32, in place.
///
/// Cost: 2 flops a weight and token, 4 n^2 d a layer for the maps. Memory: about ten rows of d_model floats a token,
/// one matrix where weights are not float32, and a block of maps a thread: never a whole map.
///
/// The result does not depend on the number of threads.
///
/// \throws Error  kUnsupported and kFormat as `resolve_network`; kFormat if an input is empty, of the wrong kind or
///                size, has an id outside the vocabulary, or is longer than the table of positions;
///                kResource if one input does not fit the memory; kNumeric if weights or activations are not finite;
///                kInvalidArgument if a replaced head does not exist.
void run_forward(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options);

/// Tokens an input gives, class tokens and registers included.
/// \throws Error  as `run_forward`.
[[nodiscard]] std::size_t token_count(const Model& model, const ModelInput& input);

}  // namespace headscope
