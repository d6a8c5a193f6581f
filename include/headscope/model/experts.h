#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "headscope/model/expert_form.h"
#include "headscope/model/stored_linear.h"

namespace headscope {

/// The matrices of all experts of a layer in one place of the MLP.
struct ExpertMatrix {
  std::vector<const StoredTensor*> weights;  ///< By expert: matrices, in the file or in `slices`.
  std::vector<const StoredTensor*> biases;   ///< Empty if there are none.
  Storage storage = Storage::kOutIn;
  /// The experts' parts of stacked tensors, which share their bytes.
  std::shared_ptr<const std::vector<StoredTensor>> slices = {};

  [[nodiscard]] StoredLinear at(std::size_t expert) const {
    return {weights.at(expert), biases.empty() ? nullptr : biases.at(expert), storage};
  }
};

/// Chooses experts for each token: the `chosen` with the largest scores, among the best groups if there are several.
struct Router {
  StoredLinear linear = {};
  const StoredTensor* correction = nullptr;  ///< [experts], added to the scores for choosing, not to the weights.
  RouterScore score = RouterScore::kSoftmax;
  std::size_t chosen = 1;
  std::size_t groups = 1;         ///< The experts are in this many groups of equal size ...
  std::size_t chosen_groups = 1;  ///< ... of which this many may be chosen from.
  bool best_of_group = false;
  bool normalized = true;
  float scaling = 1;
  float tolerance = 0;  ///< kSparseMixer: relative distance from the largest score.
};

/// An MLP that every token uses beside its chosen experts.
struct SharedExpert {
  StoredLinear up;
  std::optional<StoredLinear> gate;
  bool gate_in_up = false;  ///< The first half of the output of `up` is the gate.
  StoredLinear down;
  const StoredTensor* switched = nullptr;  ///< [d_model]; the sigmoid of its product with x is a factor on the result.
};

/// An MLP that is a mixture of experts: the sum over a token's experts of weight * down(act(gate x) * up x).
struct StoredExperts {
  Router router;
  ExpertMatrix up;
  std::optional<ExpertMatrix> gate;
  GateRows gate_rows = GateRows::kSeparate;
  ExpertMatrix down;
  std::optional<SharedExpert> shared;
  bool weighs_input = false;  ///< The weight is a factor on x, not on the result.
  float gate_limit = 0;       ///< gpt-oss: (clamp(up) + 1) * clamp(gate) sigmoid(slope * clamp(gate)); 0: not so.
  float gate_slope = 0;

  [[nodiscard]] std::size_t count() const noexcept { return down.weights.size(); }
  /// Width of an expert's hidden layer.
  [[nodiscard]] std::size_t hidden() const { return down.at(0).in(); }
  /// Number of neurons, of all experts and the shared one.
  [[nodiscard]] std::size_t neurons() const { return count() * hidden() + (shared ? shared->down.in() : 0); }
  [[nodiscard]] bool is_gated() const noexcept { return gate.has_value() || gate_rows != GateRows::kSeparate; }
};

}  // namespace headscope
