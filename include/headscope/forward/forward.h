#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/image/pixels.h"
#include "headscope/model/model.h"

namespace headscope {

/// Input of a model: token ids, or an image.
struct ModelInput {
  std::vector<std::uint32_t> ids = {};
  Pixels pixels = {};
};

/// Some rows of one head's map.
struct MapRows {
  std::size_t input;  ///< Index of the input.
  std::size_t layer;
  std::size_t head;         ///< Query head.
  std::size_t first_query;  ///< Index among the input's tokens.
  MatrixView values;        ///< One row per query, one column per key; valid only during the call.
};

/// Some rows of the output.
struct OutputRows {
  std::size_t input;
  std::size_t first_row;  ///< Index among the input's tokens; 0 for a classifier, which gives one row.
  std::size_t rows;       ///< Total number of rows of this input's output.
  MatrixView values;
};

/// Outputs of a layer's heads, before O: one row per token, the heads concatenated.
struct HeadOutputs {
  std::size_t input;
  std::size_t layer;
  MatrixView values;
};

/// Replaces the output of one head, before O, by the same vector for every token.
struct HeadReplacement {
  std::size_t layer;
  std::size_t head;
  std::vector<float> value;  ///< d_head numbers.
};

struct ForwardOptions {
  /// Called once for every requested map row, as soon as it is computed, concurrently from several threads.
  /// `scores`: scaled (and soft-capped if the family does so), before the mask, for all keys.
  /// `pattern`: after the softmax; exactly 0 where the mask hides a key.
  std::function<void(const MapRows&)> on_scores = {};
  std::function<void(const MapRows&)> on_pattern = {};
  /// Selects the heads whose maps are wanted; all if not set.
  std::function<bool(std::size_t layer, std::size_t head)> wants_map = {};
  std::size_t first_query = 0;
  std::size_t end_query = std::numeric_limits<std::size_t>::max();  ///< One past the last query.

  /// Receives the logits, or the last hidden state if the model has no head. If set, all layers are run.
  std::function<void(const OutputRows&)> on_output = {};
  std::function<void(const HeadOutputs&)> on_heads = {};
  std::size_t end_layer = std::numeric_limits<std::size_t>::max();  ///< One past the last layer to run; ignored if
                                                                    ///< `on_output` is set.

  /// Heads whose output is replaced.
  std::vector<HeadReplacement> replacements = {};
};

/// Runs a model on each of the inputs in float32: embeddings, blocks and output, as the family computes them. Weights
/// are read one layer at a time, in place if they are float32; several inputs share each read.
///
/// Cost: 2 flops per weight and token, plus 4 n^2 d per layer for the maps. Memory: about ten rows of d_model floats
/// per token, one matrix if weights are not float32, and one block of maps per thread, never a whole map. All of this
/// counts against the budget: as many inputs run together as fit. Not collective: `context.ranks` is not used.
///
/// The result does not depend on the number of threads.
///
/// \throws Error  kUnsupported and kFormat as `resolve_network`; kFormat if an input is empty, of the wrong kind or
///                size, has an id outside the vocabulary, or is longer than the table of positions; kResource if one
///                input does not fit into the memory; kNumeric if weights or activations are not finite;
///                kInvalidArgument if a replaced head does not exist.
void run_forward(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                 const Context& context = {});

/// Returns the number of tokens of an input, including class tokens and registers.
/// \throws Error  as `run_forward`.
[[nodiscard]] std::size_t token_count(const Model& model, const ModelInput& input);

}  // namespace headscope
