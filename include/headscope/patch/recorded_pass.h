#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/forward/forward.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// Bytes that the record of this number of tokens takes. `sides`: number of streams that no branch reads.
[[nodiscard]] std::size_t record_memory(const HeadSizes& sizes, const TokenCounts& tokens, std::size_t sides);

/// What a model computed on some inputs, so that other passes can begin in the middle: the residual stream before every
/// layer and after the encoder, the outputs of all heads, and what the norms after branches divided by.
///
/// Memory: tokens * layers * (d_model + heads * d_head) floats, and what few models have: streams that no branch reads,
/// lent keys and values, the output of an encoder. All of it counts against the budget.
class RecordedPass {
 public:
  /// Runs the model. `model` and `inputs` must outlive this object.
  /// \throws Error  as `run_forward`; kInvalidArgument if there are no inputs; kResource if the record does not fit.
  RecordedPass(const Model& model, std::span<const ModelInput> inputs, const Context& context = {});

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] std::span<const ModelInput> inputs() const noexcept { return inputs_; }
  /// Bytes that the record takes.
  [[nodiscard]] std::size_t memory() const noexcept { return memory_; }
  [[nodiscard]] const TokenCounts& counts(std::size_t input) const noexcept { return counts_[input]; }
  /// Number of tokens of an input, of both stacks together.
  [[nodiscard]] std::size_t tokens(std::size_t input) const noexcept {
    return counts_[input].source + counts_[input].target;
  }
  /// The same of the stack that a layer is in.
  [[nodiscard]] std::size_t rows(std::size_t layer, std::size_t input) const noexcept {
    return counts_[input].queries(model_.info().sizes.place(layer).block);
  }
  /// By input, in the stack that a layer is in.
  [[nodiscard]] std::vector<InputShape> shapes(std::size_t layer) const;

  /// The stream before a layer: tokens x d_model.
  [[nodiscard]] MatrixView stream(std::size_t layer, std::size_t input) const;
  /// Another stream before a layer, which no branch reads (Gemma 3n).
  [[nodiscard]] MatrixView side(std::size_t layer, std::size_t side, std::size_t input) const;
  /// What the streams of a layer are mixed with (`StreamMixing`), before it or after it. Empty if there is one stream.
  [[nodiscard]] MatrixView mixing(std::size_t layer, bool corrects, std::size_t input) const;
  /// The output of the encoder before its last norm; only if the model has one.
  [[nodiscard]] MatrixView encoder_output(std::size_t input) const;
  /// What a role of a layer reads, before its norm: the stream before the layer, or the output of the encoder.
  [[nodiscard]] MatrixView read(std::size_t layer, Role role, std::size_t input) const;
  /// The keys and values of a layer that later layers use in place of their own.
  [[nodiscard]] LentRows lent_keys(std::size_t layer, std::size_t input) const;
  /// The output of a query head, before O: tokens x width.
  [[nodiscard]] MatrixView output(HeadId head, std::size_t input) const;
  /// The mean output of a query head over all tokens of its stack, of all inputs: d_head numbers.
  [[nodiscard]] std::vector<float> mean_output(HeadId head) const;

  /// Factors of the norm after attention (or after the MLP) of a layer, per token. Empty if there is no such norm.
  [[nodiscard]] std::span<const float> factors(std::size_t layer, bool after_mlp, std::size_t input) const;

 private:
  [[nodiscard]] std::size_t at(std::size_t layer, std::size_t input) const noexcept {
    return layer * inputs_.size() + input;
  }

  const Model& model_;
  std::span<const ModelInput> inputs_;
  std::vector<TokenCounts> counts_;
  std::vector<InputShape> shapes_;  // of the only stack, or the encoder's
  std::size_t memory_ = 0;
  std::vector<Matrix> streams_;  // by layer, then by input
  std::vector<Matrix> outputs_;
  std::vector<std::vector<Matrix>> sides_;  // those of a layer and an input
  std::vector<Matrix> predictions_;
  std::vector<Matrix> corrections_;
  std::map<std::size_t, std::pair<Matrix, Matrix>> lent_;  // keys and values, of layers that lend them
  std::vector<Matrix> encoder_outputs_;                    // by input
  std::vector<std::vector<float>> after_attention_;
  std::vector<std::vector<float>> after_mlp_;
};

}  // namespace headscope
