#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/base/matrix.h"
#include "headscope/forward/forward.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// Bytes that the record of this number of tokens takes.
[[nodiscard]] std::size_t record_memory(const HeadSizes& sizes, std::size_t tokens);

/// What a model computed on some inputs, so that other passes can begin in the middle: the residual stream before every
/// layer, the outputs of all heads, and what the norms after branches divided by.
///
/// Memory: tokens * layers * (d_model + heads * d_head) floats, which counts against the budget.
class RecordedPass {
 public:
  /// Runs the model. `model` and `inputs` must outlive this object.
  /// \throws Error  as `run_forward`; kInvalidArgument if there are no inputs; kResource if the record does not fit.
  RecordedPass(const Model& model, std::span<const ModelInput> inputs, const Context& context = {});

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] std::span<const ModelInput> inputs() const noexcept { return inputs_; }
  /// Bytes that the record takes.
  [[nodiscard]] std::size_t memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t tokens(std::size_t input) const noexcept { return tokens_[input]; }

  /// The stream before a layer: tokens x d_model.
  [[nodiscard]] MatrixView stream(std::size_t layer, std::size_t input) const;
  /// The output of a query head, before O: tokens x d_head.
  [[nodiscard]] MatrixView output(HeadId head, std::size_t input) const;
  /// The mean output of a query head over all tokens of all inputs: d_head numbers.
  [[nodiscard]] std::vector<float> mean_output(HeadId head) const;

  /// Factors of the norm after attention (or after the MLP) of a layer, per token. Empty if there is no such norm.
  [[nodiscard]] std::span<const float> factors(std::size_t layer, bool after_mlp, std::size_t input) const;

 private:
  [[nodiscard]] std::size_t at(std::size_t layer, std::size_t input) const noexcept {
    return layer * inputs_.size() + input;
  }

  const Model& model_;
  std::span<const ModelInput> inputs_;
  std::vector<std::size_t> tokens_;
  std::size_t memory_ = 0;
  std::vector<Matrix> streams_;  // by layer, then by input
  std::vector<Matrix> outputs_;
  std::vector<std::vector<float>> after_attention_;
  std::vector<std::vector<float>> after_mlp_;
};

}  // namespace headscope
