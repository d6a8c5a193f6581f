#pragma once

#include <cstddef>
#include <span>

#include "headscope/organize/tensor_haar.h"

namespace headscope {

struct RegularityOptions {
  double quantile = 0.9;         ///< Quantile of the magnitudes in a bin, used as the bound.
  std::size_t smallest_bin = 8;  ///< Bins with fewer coefficients are skipped.
};

/// The fitted exponent of |c| <= C (|I| |J| ...)^(alpha + 1/2), with its 95% interval.
struct Regularity {
  double alpha = 0;  ///< NaN, like the interval, if there are fewer than three bins.
  double low = 0;
  double high = 0;
  std::size_t bins = 0;
};

/// Estimates how fast Haar coefficients decay with the volume of their folders: the Hoelder exponent of the function on
/// the trees (OA, arXiv 2506.15541).
///
/// Uses the coefficients that are a contrast on every axis that has a basis and more than one element. They are binned
/// by log2 of the product of their folder volumes, in bins of width 1. A line is fitted to the log of the upper
/// quantile of |c| per bin against the mean log volume of the bin, weighted by the number of coefficients. Its slope is
/// alpha + 1/2; the interval is Student's interval for a slope. Bins whose quantile is zero are skipped. From a bin of
/// more than 65536 coefficients, about 65536 are sampled, spread evenly. Whether a coefficient is sampled depends only
/// on its position in the tensor, so threads and ranks that see different parts choose consistently. O(size).
[[nodiscard]] Regularity fit_regularity(std::span<const float> coefficients, const TensorHaar& haar,
                                        const RegularityOptions& options = {});
[[nodiscard]] Regularity fit_regularity(std::span<const double> coefficients, const TensorHaar& haar,
                                        const RegularityOptions& options = {});

/// Half-width of Student's 95% interval in units of the standard error, for `degrees` degrees of freedom (at least 1).
[[nodiscard]] double student_95(std::size_t degrees) noexcept;

}  // namespace headscope
