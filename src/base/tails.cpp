#include "headscope/base/tails.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kAccuracy = 1e-14;
constexpr int kMaxSteps = 1'000'000;

// log(1 - exp(x)) for x <= 0.
double log_complement(double x) {
  return x > -std::numbers::ln2 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

struct Fraction {
  double a = 0;
  double b = 0;
};

// b_0 + a_1 / (b_1 + a_2 / (b_2 + ...)) by the modified Lentz algorithm; `term(k)` gives a_k and b_k.
template <typename Term>
double continued_fraction(const Term& term) {
  static constexpr double kTiny = 1e-300;
  const auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double value = nonzero(term(0).b);
  double c = value;
  double d = 0;
  for (int step = 1; step < kMaxSteps; ++step) {
    const Fraction next = term(step);
    d = 1 / nonzero(next.b + next.a * d);
    c = nonzero(next.b + next.a / c);
    value *= c * d;
    if (std::abs(c * d - 1) < kAccuracy) break;
  }
  return value;
}

double log_beta_function(double a, double b) {
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

// log I_x(a, b) for x left of the mean, where the continued fraction converges fast. `y` is 1 - x.
double log_left_beta(double x, double y, double a, double b) {
  const auto term = [&](int step) -> Fraction {
    const int half = step / 2;
    const double m = half;
    if (step == 0) return {0, 1};
    if (step % 2 == 0) return {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), 1};
    return {-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1};
  };
  return a * std::log(x) + b * std::log(y) - std::log(a) - log_beta_function(a, b) - std::log(continued_fraction(term));
}

// log P(X <= x) of Gamma(shape, 1), by its power series; for x < shape + 1.
double log_left_gamma(double x, double shape) {
  double term = 1 / shape;
  double sum = term;
  for (int step = 1; step < kMaxSteps && term > sum * kAccuracy; ++step) {
    term *= x / (shape + step);
    sum += term;
  }
  return shape * std::log(x) - x - std::lgamma(shape) + std::log(sum);
}

// log P(X > x) of Gamma(shape, 1), for x >= shape + 1.
double log_right_gamma(double x, double shape) {
  const auto term = [&](int step) -> Fraction {
    const double k = step;
    return {k * (shape - k), x + 1 - shape + 2 * k};
  };
  return shape * std::log(x) - x - std::lgamma(shape) - std::log(continued_fraction(term));
}

double log_gamma_lower_tail(double x, double shape) {
  if (x <= 0) return -kInfinity;
  return x < shape + 1 ? log_left_gamma(x, shape) : log_complement(log_right_gamma(x, shape));
}

}  // namespace

double log_normal_upper_tail(double x) noexcept {
  constexpr double kFar = 25;
  if (x < kFar) return std::log(std::erfc(x / std::numbers::sqrt2) / 2);
  const double s = 1 / (x * x);
  return -x * x / 2 - std::log(x * std::sqrt(2 * std::numbers::pi)) + std::log1p(-s * (1 - 3 * s * (1 - 5 * s)));
}

double log_beta_upper_tail(double x, double a, double b) noexcept {
  if (x <= 0) return 0;
  if (x >= 1) return -kInfinity;
  if (x < (a + 1) / (a + b + 2)) return std::min(0.0, log_complement(std::min(0.0, log_left_beta(x, 1 - x, a, b))));
  return std::min(0.0, log_left_beta(1 - x, x, b, a));
}

double log_gamma_upper_tail(double x, double shape) noexcept {
  if (x <= 0) return 0;
  return std::min(0.0,
                  x < shape + 1 ? log_complement(std::min(0.0, log_left_gamma(x, shape))) : log_right_gamma(x, shape));
}

double log_pearson3_upper_tail(double x, double skewness) noexcept {
  constexpr double kNearlyNormal = 1e-4;
  if (std::abs(skewness) < kNearlyNormal) return log_normal_upper_tail(x);
  const double shape = 4 / (skewness * skewness);
  // X = (G - shape) skewness / 2 with G ~ Gamma(shape, 1).
  const double g = shape + 2 * x / skewness;
  return skewness > 0 ? log_gamma_upper_tail(g, shape) : std::min(0.0, log_gamma_lower_tail(g, shape));
}

double log_scaled_beta_upper_tail(double x, double limit, double mean, double deviation) noexcept {
  if (deviation <= 0) return x <= mean ? 0 : -kInfinity;
  const double m = mean / limit;
  const double variance = deviation * deviation / (limit * limit);
  // a + b; its infimum is that of the law on the two ends.
  const double size = std::max(m * (1 - m) / variance - 1, std::numeric_limits<double>::min());
  return log_beta_upper_tail(x / limit, m * size, (1 - m) * size);
}

}  // namespace headscope
