#include "relate/direction_tails.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "headscope/base/tails.h"

namespace headscope {
namespace {

class Tails {
 public:
  // `squares`: all squared scores, which are sorted. The subspace has rank p in R^d.
  Tails(std::span<float> squares, std::size_t p, std::size_t d)
      : squares_(squares), a_(static_cast<double>(p) / 2), b_(static_cast<double>(d - p) / 2) {
    std::ranges::sort(squares_, std::greater<>());
  }

  // p and q of the best, best first.
  [[nodiscard]] std::vector<DirectionTail> best(std::size_t count) const {
    std::vector<DirectionTail> best(count);
    const std::size_t total = squares_.size();
    double least = -std::log(static_cast<double>(total));  // of log(p_s / s): q is at most 1
    if (best.size() < total) search(best.size() + 1, total, log_p(best.size() + 1), least);
    for (std::size_t s = best.size(); s > 0; --s) {
      const double tail = log_p(s);
      least = std::min(least, tail - std::log(static_cast<double>(s)));
      best[s - 1].log10_p = tail / std::numbers::ln10;
      best[s - 1].q = std::min(1.0, static_cast<double>(total) * std::exp(least));
    }
    return best;
  }

 private:
  // Logarithm of p of the s-th best.
  [[nodiscard]] double log_p(std::size_t s) const {
    if (a_ == 0 || b_ == 0) return 0;
    return log_beta_upper_tail(std::min(static_cast<double>(squares_[s - 1]), 1 - 0x1p-23), a_, b_);
  }

  // Lowers `least` to the minimum of log(p_s / s) over [first, last]. p grows with s, so log(p_first / last) bounds it:
  // of 50,000 vectors, a few hundred are evaluated.
  void search(std::size_t first, std::size_t last, double log_p_first, double& least) const {
    if (log_p_first - std::log(static_cast<double>(last)) >= least) return;
    least = std::min(least, log_p_first - std::log(static_cast<double>(first)));
    if (first == last) return;
    const std::size_t middle = first + (last - first) / 2;
    search(first, middle, log_p_first, least);
    search(middle + 1, last, log_p(middle + 1), least);
  }

  std::span<float> squares_;
  double a_;
  double b_;
};

}  // namespace

std::vector<DirectionTail> direction_tails(std::span<float> squares, std::size_t p, std::size_t d, std::size_t count) {
  if (squares.empty()) return {};
  return Tails(squares, p, d).best(std::min(count, squares.size()));
}

}  // namespace headscope
