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
#include "headscope/model/network.h"

namespace headscope {

/// Log-mel features of audio: one row per band, one column per frame.
struct AudioFeatures {
  std::size_t bands = 0;
  std::size_t frames = 0;
  std::vector<float> values = {};
};

/// Input of a model: token ids, an image or audio; and the ids that the decoder reads, if the model has one.
struct ModelInput {
  std::vector<std::uint32_t> ids = {};
  Pixels pixels = {};
  AudioFeatures audio = {};
  std::vector<std::uint32_t> target = {};
};

/// Tokens of an input, including class tokens and registers.
struct TokenCounts {
  std::size_t source = 0;  ///< Of the only stack, or of the encoder.
  std::size_t target = 0;  ///< Of the decoder; 0 if there is none.

  /// Rows and columns of the maps of a block.
  [[nodiscard]] std::size_t queries(Block block) const noexcept {
    return block == Block::kDecoder || block == Block::kCross ? target : source;
  }
  [[nodiscard]] std::size_t keys(Block block) const noexcept { return block == Block::kDecoder ? target : source; }
  /// Rows of the output.
  [[nodiscard]] std::size_t outputs() const noexcept { return target > 0 ? target : source; }
};

/// Some rows of one head's map.
struct MapRows {
  std::size_t input;        ///< Index of the input.
  std::size_t layer;        ///< Counted through all blocks, as everywhere here, see `HeadSizes`.
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

/// The residual stream before a layer: one row per token.
struct StreamRows {
  std::size_t input;
  std::size_t layer;
  MatrixView values;
};

/// A stream that no branch reads (Gemma 3n), before a layer: one row per token.
struct SideRows {
  std::size_t input;
  std::size_t layer;
  std::size_t side;  ///< Counted from 0.
  MatrixView values;
};

/// How the n streams of a layer are mixed: one row per token. Before the layer, n x n numbers that are added to the
/// identity, by new stream and old one. After it, n numbers: stream s gets 1 + number s times what the layer has
/// changed in the main stream.
struct StreamMixing {
  std::size_t input;
  std::size_t layer;
  bool corrects;  ///< Whether `factors` are those of the correction, after the layer.
  MatrixView factors;
};

/// What the norm after a branch divides each token by, as factors. With the factors held fixed, a change c of the
/// norm's input becomes (c - mean c) * factor * gain (LayerNorm) or c * factor * gain (RMSNorm).
struct NormFactors {
  std::size_t input;
  std::size_t layer;
  bool after_mlp;  ///< False: after attention.
  std::span<const float> factors;
};

/// Keys and values that later layers use in place of their own (`HeadSizes::kv_layer`), after norms and positions: one
/// row per token, the KV heads concatenated.
struct LentRows {
  std::size_t input;
  std::size_t layer;  ///< Whose keys they are.
  MatrixView keys;
  MatrixView values;
};

/// Changes what one head reads in one role, and nothing else.
struct ReadEdit {
  Role role;          ///< Q, K or V.
  std::size_t head;   ///< A query head for Q, a KV head for K and V.
  MatrixView change;  ///< Added to the stream before the norm, which is computed again: one row per token. For K and V
                      ///< of cross-attention, to the output of the encoder before its last norm.
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
  std::size_t first_output = 0;  ///< Rows of the output before this one are not computed. Ignored by classifiers.
  std::size_t end_output = std::numeric_limits<std::size_t>::max();  ///< One past the last row.
  std::function<void(const HeadOutputs&)> on_heads = {};
  std::size_t end_layer = std::numeric_limits<std::size_t>::max();  ///< One past the last layer to run; ignored if
                                                                    ///< `on_output` is set.

  /// Heads whose output is replaced.
  std::vector<HeadReplacement> replacements = {};

  /// Called before every layer, after its streams are mixed if it has several; and after every norm that follows a
  /// branch.
  std::function<void(const StreamRows&)> on_stream = {};
  std::function<void(const SideRows&)> on_side = {};
  std::function<void(const StreamMixing&)> on_mixing = {};
  std::function<void(const NormFactors&)> on_norm = {};
  /// Receives the output of the encoder, before its last norm; the layer is one past the last that was run.
  std::function<void(const StreamRows&)> on_encoder_output = {};

  /// Number of times that every input is run. Copy c of input i has the index c * inputs + i in all calls.
  std::size_t copies = 1;
  /// First layer to run. `start`, which is required unless it is layer 0, writes the stream before it: in place of the
  /// embedding and of all layers before, those of a hybrid that have no attention included.
  std::size_t begin_layer = 0;
  std::function<void(std::size_t input, MatrixSpan rows)> start = {};
  /// Writes one of the streams that no branch reads. Required if the model has some and `start` is set.
  std::function<void(std::size_t input, std::size_t side, MatrixSpan rows)> start_side = {};
  /// Writes the output of the encoder, before its last norm, if the first layer is one of the decoder. The encoder is
  /// not run then. Copies of an input must have the same, which is projected once. With `edits`, it is called
  /// concurrently from several threads.
  std::function<void(std::size_t input, MatrixSpan rows)> encoder_output = {};
  /// Receives the keys and values of the layers that lend them, and returns those of layers before the first one to
  /// run. The views are used before the first layer begins.
  std::function<void(const LentRows&)> on_lent_keys = {};
  std::function<LentRows(std::size_t input, std::size_t layer)> lent_keys = {};
  /// What heads of the first layer read instead of the stream. The views are used before the next layer begins.
  std::function<std::vector<ReadEdit>(std::size_t input)> edits = {};
  /// What is added to what the MLP of the first layer, or the unembedding, reads of the stream, before their norm: one
  /// row per token.
  std::function<MatrixView(std::size_t input)> mlp_change = {};
  std::function<MatrixView(std::size_t input)> output_change = {};
};

/// Runs a model on each of the inputs in float32: embeddings, blocks and output, as the family computes them. Weights
/// are read one layer at a time, in place if they are float32; several inputs share each read.
///
/// Cost: 2 flops per weight and token, plus 4 n^2 d per layer for the maps. Memory: about ten rows of d_model floats
/// per token, one matrix if weights are not float32, and one block of maps per thread, never a whole map. All of this
/// counts against the budget: as many inputs run together as fit. Not collective: `context.ranks` is not used.
///
/// A model with an encoder and a decoder runs all of the decoder unless `end_layer` is in the encoder.
///
/// The result does not depend on the number of threads.
///
/// \throws Error  kUnsupported and kFormat as `resolve_network`; kFormat if an input is empty, of the wrong kind or
///                size, has an id outside the vocabulary, or is longer than the table of positions; kResource if one
///                input does not fit into the memory; kNumeric if weights or activations are not finite;
///                kInvalidArgument if a replaced or edited head does not exist, or the first layer has no start.
void run_forward(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                 const Context& context = {});

/// Returns the number of tokens of an input, including class tokens and registers; of both stacks together.
/// \throws Error  as `run_forward`.
[[nodiscard]] std::size_t token_count(const Model& model, const ModelInput& input);
/// The same of each stack.
[[nodiscard]] TokenCounts token_counts(const Model& model, const ModelInput& input);

/// Number of tokens that a model makes of that many frames of audio.
[[nodiscard]] std::size_t frames_to_tokens(const NetworkInput& in, std::size_t frames);

/// Whether a layer from `begin` on uses the keys and values of a layer in place of its own.
[[nodiscard]] bool lends_keys(const HeadSizes& sizes, std::size_t layer, std::size_t begin = 0) noexcept;

/// Returns the memory that a pass needs at least if its longest input has this many tokens.
/// \throws Error  as `resolve_network`.
[[nodiscard]] std::size_t forward_memory(const Model& model, std::size_t longest);
/// What it needs besides if it has `edits`.
[[nodiscard]] std::size_t edits_memory(const Model& model, std::size_t longest);

}  // namespace headscope
