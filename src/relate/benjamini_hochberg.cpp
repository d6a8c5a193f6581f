#include "relate/benjamini_hochberg.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace headscope {

std::vector<float> log10_q_values(std::span<const float> log10_p) {
  std::vector<std::uint32_t> order(log10_p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return log10_p[a] < log10_p[b]; });
  std::vector<float> result(log10_p.size());
  const double all = std::log10(static_cast<double>(log10_p.size()));
  double smallest = 0;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const double p = static_cast<double>(log10_p[order[rank - 1]]);
    smallest = std::min(smallest, p + all - std::log10(static_cast<double>(rank)));
    result[order[rank - 1]] = static_cast<float>(smallest);
  }
  return result;
}

std::vector<float> log10_q_values_if_dependent(std::span<const float> log10_p) {
  std::vector<float> result = log10_q_values(log10_p);
  double harmonic = 0;
  for (std::size_t i = result.size(); i > 0; --i) harmonic += 1 / static_cast<double>(i);
  const double factor = std::log10(std::max(1.0, harmonic));
  for (float& value : result) value = static_cast<float>(std::min(0.0, static_cast<double>(value) + factor));
  return result;
}

}  // namespace headscope
