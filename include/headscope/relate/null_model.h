#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/relate/affinity.h"

namespace headscope {

/// What affinities are compared with.
enum class NullModel {
  /// Two spaces (or factors) with a uniformly random relative rotation (PK, arXiv 2601.10266); see
  /// `isotropic_moments`. For pk a Beta law on [0, min(p, q)] with the exact mean and variance; it is the exact law for
  /// min(p, q) = 1. For other norms of products Pearson's type III law with the exact first three moments. A Gaussian
  /// law would give some q < 0.05 in 54 % of null role pairs with d = 16, h = 2 and in 13 % with d = 64, h = 8.
  kIsotropic,
  /// Random subspaces as anisotropic as the model, with the mean projector P of the role over all heads; see
  /// `matched_laws`. For pk a fitted Beta law: exact mean, Monte Carlo deviation. For metrics of angles Monte Carlo,
  /// with a fitted tail beyond the draws. For subspace metrics only.
  kMatched,
  /// Median and 1.4826 * median absolute deviation of the observed affinities with the same role pair and layer
  /// distance, modeled as Gaussian. It has no power in classes of fewer than `kSmallSpanClass` pairs.
  kSpan,
};

[[nodiscard]] std::string_view to_string(NullModel null) noexcept;
[[nodiscard]] std::optional<NullModel> parse_null_model(std::string_view name) noexcept;

/// Whether the null is defined for the metric: isotropic for norms of products, matched for subspace metrics, span for
/// all.
[[nodiscard]] bool is_defined(NullModel null, Metric metric) noexcept;

/// Mean, standard deviation and skewness, on the scale of the null's law: squared for metrics that are roots.
struct NullMoments {
  double mean = 0;
  double deviation = 0;
  double skewness = 0;
};

/// The law that p comes from.
enum class NullLaw {
  kNone,      ///< There is nothing to compare the pair with: p is 1.
  kBeta,      ///< Beta on [max(0, p + q - n), min(p, q)], with mean and deviation of the null.
  kPearson3,  ///< Pearson's type III, with mean, deviation and skewness of the null.
  kSample,    ///< Monte Carlo, with a fitted tail beyond the draws.
  kNormal,    ///< Normal, with median and scaled median absolute deviation of the observed affinities.
};
/// "", "beta", "pearson3", "sample", "normal"
[[nodiscard]] std::string_view to_string(NullLaw law) noexcept;

/// What a null says about one pair, apart from its affinity.
struct PairNull {
  NullLaw law = NullLaw::kNone;
  /// On the scale of the affinity. For metrics that are roots the law is that of the square: the mean is then the root
  /// of its mean, and the deviation is that of the root to first order. NaN without a law.
  double mean = std::numeric_limits<double>::quiet_NaN();
  double deviation = std::numeric_limits<double>::quiet_NaN();
};

/// The dimension in which the heads are compared with random ones: d_model, or d_model - 1 where the weight processing
/// has centered both sides, so that all heads lie in the complement of the all-ones vector. With d_model, the mean z
/// of heads without structure would be off by 0.06 for GPT-2 small and by 0.25 for small models.
[[nodiscard]] std::size_t isotropic_dimension(const ModelInfo& model, WeightProcessing weights) noexcept;

/// Exact isotropic moments of T = ||F^T G||_F^2 in `dimension` dimensions n. With t, s, c the traces of a Gram matrix,
/// its square and its cube, the variance is v = s - t^2/n around its mean eigenvalue and the third moment is
/// w = c - 3 t s/n + 2 t^3/n^2. Then
///
///     E T = t_F t_G / n,  Var T = 2 v_F v_G / ((n - 1)(n + 2)),
///     E (T - E T)^3 = 8 n w_F w_G / ((n - 1)(n - 2)(n + 2)(n + 4)).
///
/// The last one is a multiple of w_F w_G because tr A^3 is the only cubic invariant of a traceless symmetric matrix;
/// the factor follows from F and G of rank 1, where T has a Beta law.
[[nodiscard]] NullMoments isotropic_moments(const GramMoments& f, const GramMoments& g, std::size_t dimension) noexcept;

struct MatchedOptions {
  std::size_t draws = 32;  ///< Subspaces per side; each source draw is paired with each target draw.
  std::uint64_t seed = 0;
  std::optional<Stream> stream = {};  ///< Only matrices of this residual stream; all if not set.
};

/// The heads of one side of a matched law.
struct MatchedSide {
  double mean_rank = 0;       ///< Over the heads that are not zero.
  std::size_t full_rank = 0;  ///< The largest rank; that of the draws.
};

/// The matched law of one role pair.
struct MatchedLaw {
  NullMoments moments = {};  ///< The mean of pk is for heads of mean rank; everything else is for heads of full rank.
  MatchedSide source = {};
  MatchedSide target = {};
  /// Drawn values, standardized so that larger is closer, ascending. Empty for pk, whose law is a fitted Beta law.
  std::vector<float> sample = {};
  /// The law of pairs in the stream of the encoder, if the model has one; this one is then that of the decoder's.
  std::shared_ptr<const MatchedLaw> of_encoder = {};
};

/// Computes the matched law of every role pair, or both laws if the model has two residual streams.
///
/// With P_S and P_T the mean projectors of the two roles, the mean of pk is tr(P_S P_T): exactly the mean over all
/// pairs of heads. For a role with itself it is (N tr P^2 - r) / (N - 1) for N heads of mean rank r, because a head is
/// not compared with itself. Deviation and skewness are those of draws: orthonormalized Gaussian columns with
/// covariance P (I - P)^-1. Their mean projector is close to P; a covariance of P itself would flatten the spectrum a
/// second time, and the mean z of heads without structure would be +2 to +25. For metrics of angles, mean and
/// distribution are those of the draws.
///
/// The result depends on the seed but not on threads or ranks. Collective: each rank prepares the heads of its own
/// layers; rank 0 does the rest and gets the result. Other ranks get nothing. Memory: three d_model x d_model matrices
/// of doubles at a time, one of floats per role, and the draws; the caller counts them.
[[nodiscard]] std::optional<std::vector<MatchedLaw>> matched_laws(const Model& model, Metric metric,
                                                                  std::span<const RolePair> pairs,
                                                                  const AffinityOptions& affinity_options,
                                                                  const MatchedOptions& options = {},
                                                                  const Context& context = {});

/// p and q below this are printed and written as this: "at most".
constexpr double kSmallestP = 1e-12;
/// 10^log10_p, but at least `kSmallestP`.
[[nodiscard]] double shown_p(double log10_p) noexcept;

/// Classes of the span null with fewer pairs than this say nothing.
constexpr std::size_t kSmallSpanClass = 30;

/// How unusual every earlier-to-later affinity is under a null. Matrices are NaN for pairs that are not
/// earlier-to-later.
struct Significance {
  NullModel null = NullModel::kIsotropic;
  /// (affinity - mean) / deviation, positive where the heads are closer than under the null; 0 if the null has no
  /// spread.
  Matrix z = {};
  /// Logarithm of the probability of an affinity at least as close.
  Matrix log10_p = {};
  /// Logarithm of the Benjamini-Hochberg q-value within the role pair.
  Matrix log10_q = {};
};

/// Upper tail of the standard normal distribution.
[[nodiscard]] double upper_tail(double z) noexcept;

/// Computes z, p and q of every earlier-to-later pair. `dimension` is that of `isotropic_dimension`; `matched` is used
/// only by that null. For heads of lower rank than the matched draws, the mean of pk is scaled by the ranks and its
/// deviation like the isotropic one; for metrics of angles there is nothing to compare them with, and they get z = 0
/// and p = 1. A head of rank 0 has p = 1 everywhere. Cost: one evaluation of an incomplete Beta or gamma function per
/// pair.
[[nodiscard]] Significance significance(const Affinities& affinities, NullModel null, std::size_t dimension,
                                        const MatchedLaw& matched = {});

}  // namespace headscope
