#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headscope/capture/forward.h"

namespace headscope {

/// How well a model does on given inputs.
struct Performance {
  /// Mean of -ln p(right answer), in nats; nothing where no answer is known.
  std::optional<double> loss;
  /// Share of the answers that are right.
  std::optional<double> accuracy;
  std::size_t answers = 0;  ///< Tokens, or images, that count.
};

/// What an intervention does to a model's output.
struct Effect {
  Performance before;
  Performance after;
  /// Mean over rows of KL(p before || p after), in nats; nothing for models without a head.
  std::optional<double> kl;
  /// Share of rows whose likeliest output is still the same; nothing for models without a head.
  std::optional<double> agreement;
  /// ||after - before|| / ||before|| of the whole output (logits less their mean, or hidden states).
  double change = 0;
};

/// Remembers what a model answers to some inputs, to compare with what it answers after an intervention.
///
/// The right answer is: for causal language models the next token; for image classifiers the label, where labels
/// are given. Masked language models and models without a head have none.
///
/// Memory: the output for all inputs as floats (tokens * vocabulary * 4 bytes).
class EffectMeter {
 public:
  /// Runs the model. `labels` is empty or has one label an input.
  /// \throws Error  as `run_forward`; kResource if the outputs do not fit half of the memory;
  ///                kInvalidArgument if there are no inputs, or labels do not fit inputs and classes.
  EffectMeter(const Model& model, std::span<const ModelInput> inputs, std::span<const std::size_t> labels = {},
              const ForwardOptions& options = {});

  [[nodiscard]] const Performance& before() const noexcept { return before_; }

  /// Runs the model with these heads replaced.
  /// \throws Error  as `run_forward`.
  [[nodiscard]] Effect measure(std::span<const HeadReplacement> replacements) const;

 private:
  const Model& model_;
  std::span<const ModelInput> inputs_;
  std::vector<std::size_t> labels_;
  ForwardOptions options_;
  bool has_head_ = false;
  std::vector<std::vector<float>> outputs_;  // by input; log-probabilities where there is a head
  Performance before_;
};

}  // namespace headscope
