#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/relate/affinity.h"

namespace headscope {

/// What an affinity is compared with.
enum class NullModel {
  /// Two spaces (or factors) turned at random against each other, uniformly (PK, arXiv
  /// 2601.10266). For factors F, G with traces t and traces of squares s of their Gram matrices the squared
  /// norm has mean t_F t_G / d and variance 2 (s_F - t_F^2/d)(s_G - t_G^2/d) / ((d - 1)(d + 2));
  /// for subspaces t = s = rank. Taken as Gaussian.
  kIsotropic,
  /// Random subspaces as anisotropic as the model: columns Gaussian with
  /// covariance = the mean projector of the role over all heads, orthonormalized. Monte Carlo
  /// mean and deviation, taken as Gaussian. For metrics of subspaces.
  kMatched,
  /// Median and 1.4826 * median absolute deviation of the observed affinities of the
  /// same pair of roles and distance of layers, taken as Gaussian.
  kSpan,
};

[[nodiscard]] std::string_view to_string(NullModel null) noexcept;
[[nodiscard]] std::optional<NullModel> parse_null_model(std::string_view name) noexcept;

/// Whether the null is defined for the metric: isotropic for norms of products,
/// matched for metrics of subspaces, span for all.
[[nodiscard]] bool is_defined(NullModel null, Metric metric) noexcept;

/// Mean and standard deviation, on the scale the null is Gaussian on: squared for metrics that are roots.
struct NullMoments {
  double mean = 0;
  double deviation = 0;
};

/// Isotropic moments of ||F^T G||_F^2.
[[nodiscard]] NullMoments isotropic_moments(const GramMoments& f, const GramMoments& g, std::size_t d) noexcept;

struct MatchedOptions {
  std::size_t draws = 32;  ///< Subspaces a side; every one of the source meets every one of the target.
  std::uint64_t seed = 0;
  /// As AffinityOptions::progress.
  std::function<void(double)> progress = {};
};

/// Matched moments for every pair of roles, at full rank. The result depends on the seed, not on threads or ranks: each
/// of these prepares the heads of its own layers, and rank 0 does the rest and has the result; elsewhere it is empty.
[[nodiscard]] std::vector<NullMoments> matched_moments(const Model& model, Metric metric,
                                                       std::span<const RolePair> pairs,
                                                       const AffinityOptions& affinity_options,
                                                       const MatchedOptions& options = {});

/// How unusual every earlier-to-later affinity is under a null.
struct Significance {
  NullModel null = NullModel::kIsotropic;
  /// (affinity - mean) / deviation, positive where the heads are closer than the null. NaN for pairs that are not
  /// earlier to later. Where the null has no spread: 0.
  Matrix z = {};
  /// Benjamini-Hochberg q-value within the pair of roles.
  Matrix q = {};
};

/// Upper tail of the standard normal distribution: the p-value of a z.
[[nodiscard]] double upper_tail(double z) noexcept;

/// `matched` is needed for that null alone.
[[nodiscard]] Significance significance(const Affinities& affinities, NullModel null, std::size_t d_model,
                                        const NullMoments& matched = {});

}  // namespace headscope
