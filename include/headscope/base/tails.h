#pragma once

namespace headscope {

/// Natural logarithms of upper tail probabilities P(X > x), accurate to about 1e-10 relative to 1 and to the logarithm
/// itself, however small the probability is. They are 0 left of the support and -infinity right of it.
///
/// Series and continued fractions as in Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.5.29, 6.5.31 and
/// 26.5.8.

/// X ~ N(0, 1).
[[nodiscard]] double log_normal_upper_tail(double x) noexcept;

/// X ~ Beta(a, b) on [0, 1]; a, b > 0.
[[nodiscard]] double log_beta_upper_tail(double x, double a, double b) noexcept;

/// X ~ Gamma(shape, 1) on [0, infinity); shape > 0.
[[nodiscard]] double log_gamma_upper_tail(double x, double shape) noexcept;

/// Pearson's type III law with mean 0, standard deviation 1 and the given skewness: a shifted gamma law, normal at 0.
[[nodiscard]] double log_pearson3_upper_tail(double x, double skewness) noexcept;

/// Beta law on [0, limit] with the given mean and standard deviation; 0 < mean < limit. Falls back to the point mass at
/// the mean if the deviation is 0, and to the widest Beta law if the deviation is impossible.
[[nodiscard]] double log_scaled_beta_upper_tail(double x, double limit, double mean, double deviation) noexcept;

}  // namespace headscope
