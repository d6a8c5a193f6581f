#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/message.h"
#include "headscope/organize/sparsity.h"
#include "organize/contrast_bins.h"
#include "organize/magnitudes.h"

namespace headscope {

/// What is known about coefficients from the basis alone. Shared by all heads.
struct CoefficientPlan {
  CoefficientPlan(const TensorHaar& haar, std::size_t entropy_terms);

  TensorHaar haar;
  ContrastBins bins;
  /// Index of each coefficient of largest support, ascending, with its rank by support (largest first).
  std::vector<std::pair<std::size_t, std::size_t>> largest;
};

/// Accumulates what the figures of a head or of the network need from coefficients. The result is bitwise the same for
/// any partition and order of the coefficients, on any threads or ranks.
class CoefficientSummary {
 public:
  explicit CoefficientSummary(const CoefficientPlan& plan) : plan_(&plan), terms_(plan.largest.size(), 0.0F) {}

  /// Adds coefficients of one head (or head coefficient), starting at position `first`.
  void add(std::size_t head, std::size_t first, std::span<const float> coefficients);
  /// Adds the summary of other coefficients of the same tensor.
  void add(CoefficientSummary other);

  void put(MessageWriter& message) const;
  [[nodiscard]] static CoefficientSummary take(const CoefficientPlan& plan, MessageReader& message);

  struct Figures {
    SparsityFigures figures;
    Regularity regularity;
    std::vector<double> curve;  ///< Magnitudes at `curve_ranks`, divided by the norm.
  };
  /// Computes the figures. All coefficients must have been added.
  [[nodiscard]] Figures finish() &&;

 private:
  const CoefficientPlan* plan_;
  Magnitudes magnitudes_;      // without the constant
  BinSamples<float> samples_;  // for the regularity
  std::vector<float> terms_;   // magnitudes of the coefficients of largest support, zero until added
};

/// Ranks of the decay curve: 1, 2, 3, 5, 7, 10, 20, ... up to `count`.
[[nodiscard]] std::vector<std::size_t> curve_ranks(std::size_t count);

/// Summarizes coefficients [all heads, positions], with positions starting at `first`. Multithreaded.
[[nodiscard]] CoefficientSummary summarize(const CoefficientPlan& plan, std::size_t first, std::size_t positions,
                                           std::span<const float> coefficients);

}  // namespace headscope
