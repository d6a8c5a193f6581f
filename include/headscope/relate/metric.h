#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "headscope/relate/role_pair.h"

namespace headscope {

/// How close the matrices of two heads are. U and V are orthonormal bases of their column spaces, of ranks p and q;
/// c_i = cos(theta_i) are the singular values of U^T V.
enum class Metric {
  kPk,           ///< Projection kernel (PK, arXiv 2601.10266): sum c_i^2 = ||U^T V||_F^2, in [0, min(p, q)].
  kMaxCos,       ///< c_1: one shared direction.
  kBinetCauchy,  ///< log prod c_i^2, in log form to avoid underflow.
  kChordal,      ///< sqrt((p + q)/2 - pk), a distance.
  kGrassmann,    ///< sqrt(sum theta_i^2), a distance; counts pi/2 for each dimension that one space lacks.
  kProcrustes,   ///< sum c_i / sqrt(p q).
  kCka,          ///< Linear CKA of the weights A, B: ||A^T B||_F^2 / (||A^T A||_F ||B^T B||_F).
  kCs,           ///< Composition score ||R W||_F / (||R||_F ||W||_F). W is the writer's OV product; R is the reader's
                 ///< QK product (OQ), its transpose (OK) or its OV product (OV). Only for those three pairs.
  kRopeCs,       ///< Composition score averaged over relative positions, for models with rotary positions R:
            ///< (E ||K R^T Q^T W||_F^2)^(1/2) and (E ||Q R K^T W||_F^2)^(1/2) instead of cs's ||K Q^T W||_F (OQ) and
            ///< ||Q K^T W||_F (OK), divided by norms as there; cs is relative position 0 alone. OV as in cs.
  kSimpleCs,  ///< ||A^T O||_F / (||A||_F ||O||_F).
  kCoupling,  ///< ||A^T O||_F: keeps the magnitude of the weights.
};

/// The factor F that a head has in a metric of the form ||F^T G||_F^2, before it is divided. The head has weights A.
enum class FactorKind {
  kNone,     ///< The metric has another form: it needs all principal angles, one decomposition per pair.
  kBasis,    ///< An orthonormal basis U.
  kWeights,  ///< A
  kProduct,  ///< P, where P P^T = A B^T B A^T and B is the partner of A: V of O, K of Q, Q of K, O of V. There is one
             ///< for every query head.
  kRotaryProduct,  ///< As kProduct for O and V. For a reader's Q and K: P P^T = A M A^T, where M is the mean of R B^T B
                   ///< R^T over relative positions (`average_rotations`).
};

/// What a factor F is divided by.
enum class FactorDivisor {
  kOne,           ///< F
  kNorm,          ///< F / ||F||_F
  kRootOfSquare,  ///< F / ||F^T F||_F^(1/2)
};

/// Properties of a metric. A new metric needs an enumerator above, its properties in metric.cpp and, if it is a
/// function of principal angles, its formula in angle_affinity.cpp. Forgetting one of these is a compiler error.
struct MetricInfo {
  Metric metric = Metric::kPk;
  std::string_view name = {};  ///< As on the command line: "pk", "max-cos", ...
  FactorKind factor = FactorKind::kNone;
  FactorDivisor divisor = FactorDivisor::kOne;
  bool root = false;       ///< The metric is ||F^T G||_F instead of its square.
  bool distance = false;   ///< Smaller means closer.
  bool logarithm = false;  ///< The logarithm of a similarity.

  /// Needs all principal angles. Other metrics are norms of products.
  [[nodiscard]] constexpr bool angles() const noexcept { return factor == FactorKind::kNone; }
  /// Depends only on the subspaces, not on lengths of vectors in them.
  [[nodiscard]] constexpr bool subspaces() const noexcept { return angles() || factor == FactorKind::kBasis; }
  /// Multiplies a head's matrix by its partner's.
  [[nodiscard]] constexpr bool products() const noexcept {
    return factor == FactorKind::kProduct || factor == FactorKind::kRotaryProduct;
  }
  /// Has K and V sides for every query head instead of every KV head.
  [[nodiscard]] constexpr bool by_query_head() const noexcept { return products(); }
};

[[nodiscard]] const MetricInfo& info(Metric metric) noexcept;
[[nodiscard]] std::span<const MetricInfo> all_metrics() noexcept;
[[nodiscard]] std::optional<Metric> parse_metric(std::string_view name) noexcept;

/// Whether the metric is defined for the pair. (`kRotaryProduct` also needs a model with rotary positions.)
[[nodiscard]] bool is_defined(Metric metric, RolePair pair) noexcept;

/// Converts an affinity to a nonnegative similarity, the weight of an edge: itself, 1 / (1 + x) for distances, exp(x)
/// for logarithms.
[[nodiscard]] double similarity(Metric metric, float value) noexcept;

}  // namespace headscope
