#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/relate/affinity.h"

namespace headscope {

/// What affinities are compared with.
enum class NullModel {
  /// Two spaces (or factors) with a uniformly random relative rotation (PK, arXiv 2601.10266). For factors F, G whose
  /// Gram matrices have trace t and trace of the square s, the squared norm has mean t_F t_G / d and variance 2 (s_F -
  /// t_F^2/d)(s_G - t_G^2/d) / ((d - 1)(d + 2)); for subspaces t = s = rank. Modeled as Gaussian.
  kIsotropic,
  /// Random subspaces as anisotropic as the model: Gaussian columns whose covariance is the mean projector of the role
  /// over all heads, orthonormalized. Monte Carlo mean and standard deviation, modeled as Gaussian. For subspace
  /// metrics.
  kMatched,
  /// Median and 1.4826 * median absolute deviation of the observed affinities with the same role pair and layer
  /// distance, modeled as Gaussian.
  kSpan,
};

[[nodiscard]] std::string_view to_string(NullModel null) noexcept;
[[nodiscard]] std::optional<NullModel> parse_null_model(std::string_view name) noexcept;

/// Whether the null is defined for the metric: isotropic for norms of products, matched for subspace metrics, span for
/// all.
[[nodiscard]] bool is_defined(NullModel null, Metric metric) noexcept;

/// Mean and standard deviation, on the scale where the null is Gaussian: squared for metrics that are roots.
struct NullMoments {
  double mean = 0;
  double deviation = 0;
};

/// Isotropic moments of ||F^T G||_F^2.
[[nodiscard]] NullMoments isotropic_moments(const GramMoments& f, const GramMoments& g, std::size_t d) noexcept;

struct MatchedOptions {
  std::size_t draws = 32;  ///< Subspaces per side; each source draw is paired with each target draw.
  std::uint64_t seed = 0;
};

/// Computes the matched moments of every role pair, at full rank. The result depends on the seed but not on threads or
/// ranks. Collective: each rank prepares the heads of its own layers; rank 0 does the rest and gets the result. Other
/// ranks get nothing. Memory: a d_model x d_model matrix of doubles per role, and the draws; not limited by the budget.
[[nodiscard]] std::optional<std::vector<NullMoments>> matched_moments(const Model& model, Metric metric,
                                                                      std::span<const RolePair> pairs,
                                                                      const AffinityOptions& affinity_options,
                                                                      const MatchedOptions& options = {},
                                                                      const Context& context = {});

/// How unusual every earlier-to-later affinity is under a null.
struct Significance {
  NullModel null = NullModel::kIsotropic;
  /// (affinity - mean) / deviation, positive where the heads are closer than under the null. NaN for pairs that are not
  /// earlier-to-later; 0 if the null has no spread.
  Matrix z = {};
  /// Benjamini-Hochberg q-value within the role pair.
  Matrix q = {};
};

/// Upper tail of the standard normal distribution: the p-value of z.
[[nodiscard]] double upper_tail(double z) noexcept;

/// Computes z and q of every earlier-to-later pair. `matched` is used only by that null.
[[nodiscard]] Significance significance(const Affinities& affinities, NullModel null, std::size_t d_model,
                                        const NullMoments& matched = {});

}  // namespace headscope
