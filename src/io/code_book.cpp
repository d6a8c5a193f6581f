#include "headscope/io/code_book.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace headscope {

CodeBook make_code_book(std::span<const float, 16> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  CodeBook book;
  for (std::size_t i = 0; i < values.size(); ++i) {
    book.values[i] = values[i];
    if (sorted.size() == 1) continue;
    const auto here = std::ranges::lower_bound(sorted, static_cast<double>(values[i]));
    const bool first = here == sorted.begin();
    const bool last = here + 1 == sorted.end();
    const double up = last ? *here - *(here - 1) : *(here + 1) - *here;
    const double down = first ? up : *here - *(here - 1);
    book.steps[i] = static_cast<float>(std::sqrt((down * down * down + up * up * up) / (down + up)));
  }
  return book;
}

const CodeBook& e2m1_code_book() {
  static const CodeBook book = [] {
    std::array<float, 16> values = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    for (std::size_t i = 0; i < 8; ++i) values[8 + i] = -values[i];
    return make_code_book(values);
  }();
  return book;
}

float e8m0_factor(unsigned exponent) noexcept {
  return exponent >= 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, static_cast<int>(exponent) - 127);
}

}  // namespace headscope
