#pragma once

#include <cstddef>
#include <span>

#include "headscope/organize/tensor_haar.h"

namespace headscope {

struct RegularityOptions {
  double quantile = 0.9;         ///< Of the magnitudes in a bin; what stands for the bound.
  std::size_t smallest_bin = 8;  ///< Bins of fewer coefficients are left out.
};

/// The fitted exponent of |c| <= C (|I| |J| ...)^(alpha + 1/2), with its 95 % interval.
struct Regularity {
  double alpha = 0;  ///< NaN, like the interval, if there were fewer than three bins.
  double low = 0;
  double high = 0;
  std::size_t bins = 0;
};

/// How fast Haar coefficients fall with the volume of the folders that carry them: the Hoelder exponent that the trees
/// give the function (OA, arXiv 2506.15541).
///
/// Taken are the coefficients that are a contrast on every axis that has a basis and more than one element. They are
/// binned by log2 of the product of their folder volumes, in bins one wide; a line is fitted to the log of the upper
/// quantile of |c| in each bin over the mean log volume of the bin, weighted by the number of coefficients. Its slope
/// is alpha + 1/2; the interval is Student's for a slope. Bins where the quantile is zero are left out. Of a bin of
/// more than 65536 coefficients about so many are taken, spread evenly over it: whether one is depends on its place in
/// the tensor alone, so that threads and ranks that see parts of it choose the same. O(size).
[[nodiscard]] Regularity fit_regularity(std::span<const float> coefficients, const TensorHaar& haar,
                                        const RegularityOptions& options = {});
[[nodiscard]] Regularity fit_regularity(std::span<const double> coefficients, const TensorHaar& haar,
                                        const RegularityOptions& options = {});

/// Half width of Student's 95 % interval in units of the standard error, for so many degrees of freedom (from 1 on).
[[nodiscard]] double student_95(std::size_t degrees) noexcept;

}  // namespace headscope
