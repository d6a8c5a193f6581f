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
  kSimpleCs,     ///< ||A^T O||_F / (||A||_F ||O||_F).
};

/// Properties of a metric.
struct MetricInfo {
  Metric metric;
  std::string_view name;  ///< As on the command line: "pk", "max-cos", ...
  bool distance;          ///< Smaller means closer.
  bool angles;            ///< Needs all principal angles: one decomposition per pair. Others are norms of products.
  bool root;              ///< The metric is the square root of a squared norm of a product.
};

[[nodiscard]] const MetricInfo& info(Metric metric) noexcept;
[[nodiscard]] std::span<const MetricInfo> all_metrics() noexcept;
[[nodiscard]] std::optional<Metric> parse_metric(std::string_view name) noexcept;

/// Whether the metric is defined for the pair.
[[nodiscard]] bool is_defined(Metric metric, RolePair pair) noexcept;

}  // namespace headscope
