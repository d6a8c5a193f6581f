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

/// What the basis says about coefficients before they are known. One for all heads.
struct CoefficientPlan {
  CoefficientPlan(const TensorHaar& haar, std::size_t entropy_terms);

  TensorHaar haar;
  ContrastBins bins;
  /// The coefficients of largest support, ascending, and which of them each is, the largest support first.
  std::vector<std::pair<std::size_t, std::size_t>> largest;
};

/// What the figures of a head or of the network take from coefficients. Made of parts of them in any order, on any
/// thread or rank, it is the same to the bit.
class CoefficientSummary {
 public:
  explicit CoefficientSummary(const CoefficientPlan& plan) : plan_(&plan), terms_(plan.largest.size(), 0.0F) {}

  /// Coefficients of one head (or head coefficient) from position `first` on.
  void add(std::size_t head, std::size_t first, std::span<const float> coefficients);
  /// Those of other coefficients of the same tensor.
  void add(CoefficientSummary other);

  void put(MessageWriter& message) const;
  [[nodiscard]] static CoefficientSummary take(const CoefficientPlan& plan, MessageReader& message);

  struct Figures {
    SparsityFigures figures;
    Regularity regularity;
    std::vector<double> curve;  ///< Magnitudes at `curve_ranks`, over the norm.
  };
  /// Of all coefficients.
  [[nodiscard]] Figures finish() &&;

 private:
  const CoefficientPlan* plan_;
  Magnitudes magnitudes_;      // without the constant
  BinSamples<float> samples_;  // for the regularity
  std::vector<float> terms_;   // magnitudes of the coefficients of largest support, zero until they are met
};

/// Ranks of the decay curve: 1, 2, 3, 5, 7, 10, 20, ... up to `count`.
[[nodiscard]] std::vector<std::size_t> curve_ranks(std::size_t count);

/// The summary of the coefficients [all heads, positions], positions from `first` on. Threads share the work.
[[nodiscard]] CoefficientSummary summarize(const CoefficientPlan& plan, std::size_t first, std::size_t positions,
                                           std::span<const float> coefficients);

}  // namespace headscope
