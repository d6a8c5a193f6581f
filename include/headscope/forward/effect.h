#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headscope/forward/forward.h"

namespace headscope {

/// How well a model performs on given inputs.
struct Performance {
  /// Mean of -ln p(correct answer), in nats; empty if no answer is known.
  std::optional<double> loss;
  /// Fraction of the answers that are correct.
  std::optional<double> accuracy;
  std::size_t answers = 0;  ///< Number of tokens, or images, with a known answer.
};

/// Effect of an intervention on a model's output.
struct Effect {
  Performance before;
  Performance after;
  /// Mean over rows of KL(p before || p after), in nats; empty for models without a head.
  std::optional<double> kl;
  /// Fraction of rows whose most likely output is unchanged; empty for models without a head.
  std::optional<double> agreement;
  /// ||after - before|| / ||before|| of the whole output (logits minus their mean, or hidden states).
  double change = 0;
};

/// Records a model's outputs on some inputs, to compare them with the outputs after an intervention.
///
/// The correct answer is the next token for causal language models, and the label for image classifiers, if labels are
/// given. Masked language models and models without a head have none.
///
/// Memory: the output for all inputs as floats (tokens * vocabulary * 4 bytes). These outputs may take half of the
/// memory budget; the rest is for the forward passes.
class EffectMeter {
 public:
  /// Runs the model. `labels` is empty or has one label per input. `model` and `inputs` must outlive this object.
  /// \throws Error  as `run_forward`; kResource if the outputs do not fit the budget; kInvalidArgument if
  ///                there are no inputs, or if the labels do not match the inputs and classes.
  EffectMeter(const Model& model, std::span<const ModelInput> inputs, std::span<const std::size_t> labels = {},
              const Context& context = {});

  [[nodiscard]] const Performance& before() const noexcept { return before_; }

  /// Runs the model with these heads replaced, in what the outputs leave of the memory budget.
  /// \throws Error  as `run_forward`.
  [[nodiscard]] Effect measure(std::span<const HeadReplacement> replacements, const Context& context = {}) const;

 private:
  const Model& model_;
  std::span<const ModelInput> inputs_;
  std::vector<std::size_t> labels_;
  bool has_head_ = false;
  std::vector<std::vector<float>> outputs_;  // by input; log-probabilities if there is a head
  std::size_t held_ = 0;                     // their bytes
  Performance before_;
};

}  // namespace headscope
