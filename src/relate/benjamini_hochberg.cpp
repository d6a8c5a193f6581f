#include "relate/benjamini_hochberg.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace headscope {

std::vector<float> log10_q_values(std::vector<float> log10_p) {
  std::vector<std::uint32_t> order(log10_p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) { return log10_p[a] < log10_p[b]; });
  const double all = std::log10(static_cast<double>(log10_p.size()));
  double smallest = 0;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    float& value = log10_p[order[rank - 1]];  // p, replaced by q
    smallest = std::min(smallest, static_cast<double>(value) + all - std::log10(static_cast<double>(rank)));
    value = static_cast<float>(smallest);
  }
  return log10_p;
}

std::vector<float> log10_q_values_if_dependent(std::vector<float> log10_p) {
  std::vector<float> result = log10_q_values(std::move(log10_p));
  double harmonic = 0;
  for (std::size_t i = result.size(); i > 0; --i) harmonic += 1 / static_cast<double>(i);
  const double factor = std::log10(std::max(1.0, harmonic));
  for (float& value : result) value = static_cast<float>(std::min(0.0, static_cast<double>(value) + factor));
  return result;
}

}  // namespace headscope
