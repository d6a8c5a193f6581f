#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/processing_steps.h"
#include "headscope/relate/affinity.h"

namespace headscope {

/// How much the affinities of a role pair change if the weights are processed in another way. An order of pairs of
/// heads that only one processing gives says more about the processing than about the model.
struct Sensitivity {
  RolePair pair;
  std::string variant;          ///< E.g. "gain only", "as stored", "without 4 directions".
  ProcessingSteps steps;        ///< Of the variant.
  std::size_t removed = 0;      ///< Leading eigenvectors of each role's mean projector that were projected out.
  std::size_t pairs = 0;        ///< Earlier-to-later pairs of heads.
  double spearman = 0;          ///< Rank correlation with the default affinities over these pairs; NaN if either is
                                ///< constant.
  std::size_t top = 0;          ///< Number of closest pairs that are compared; at most `pairs`.
  std::size_t top_overlap = 0;  ///< How many of the `top` closest pairs are among them by default, too.
};

/// Numbers of eigenvectors that are removed, as far as they are at most a quarter of the residual stream.
inline constexpr std::size_t kRemovedDirections[] = {1, 2, 4, 8};

/// Compares the affinities with those of every variant: the combinations of gain and centering other than the default
/// (three; for post-norm models, which have no gain to fold, one), and the default without the 1, 2, 4 and 8 leading
/// eigenvectors of the role's mean projector. A head's source and target role each lose the directions of their own
/// role.
///
/// `defaults` are the affinities of `metric` with `options`, by role pair; only rank 0 needs them. Result: variant by
/// variant, then by role pair.
///
/// Collective; only rank 0 gets a result. Cost: one computation of all earlier-to-later affinities per variant, and
/// `common_directions`. Nothing is stored for resuming.
/// \throws Error  as `compute_affinities`.
[[nodiscard]] std::optional<std::vector<Sensitivity>> sensitivity(const Model& model, Metric metric,
                                                                  std::span<const RolePair> pairs,
                                                                  std::span<const Affinities> defaults,
                                                                  const AffinityOptions& options, std::size_t top,
                                                                  const Context& context = {});

/// Number of variants that `sensitivity` tries.
[[nodiscard]] std::size_t sensitivity_variants(const ModelInfo& info) noexcept;

/// Compares two sets of affinities of the same heads; fills pairs, spearman, top and top_overlap. Ties share their mean
/// rank; among the closest pairs they go to earlier heads.
[[nodiscard]] Sensitivity compare_affinities(const Affinities& by_default, const Affinities& variant, std::size_t top);

}  // namespace headscope
