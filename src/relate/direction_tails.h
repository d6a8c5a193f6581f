#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headscope {

/// How unusual the length of a unit vector's projection onto a subspace is, among many vectors.
struct DirectionTail {
  double log10_p = 0;  ///< Of a random direction being as close.
  double q = 1;        ///< Benjamini-Hochberg q-value over all vectors.
};

/// Returns the tails of the `count` largest of the squared lengths `squares`, largest first. Sorts `squares`. In R^d, a
/// subspace of rank p and a random direction have a squared length with the law Beta(p/2, (d - p)/2). A square of 1
/// counts as 1 - 2^-23, its rounding.
[[nodiscard]] std::vector<DirectionTail> direction_tails(std::span<float> squares, std::size_t p, std::size_t d,
                                                         std::size_t count);

}  // namespace headscope
