#pragma once

#include <cstddef>

#include "headscope/model/head_sizes.h"

namespace headscope {

/// Approximate cost of the parts of the matched null, in flops of a float product.
struct MatchedCost {
  double head = 0;   ///< Reading and orthonormalizing a head, and adding its projector.
  double root = 0;   ///< The root of a role's covariance, in double.
  double draws = 0;  ///< All random subspaces of one role and side.
  double pair = 0;   ///< The products of two roles' subspaces.

  MatchedCost(const HeadSizes& sizes, std::size_t draw_count) {
    const auto d = static_cast<double>(sizes.d_model);
    const auto h = static_cast<double>(sizes.widest());
    const auto count = static_cast<double>(draw_count);
    constexpr double kNormal = 500;  // cost of a random number
    head = d * d * h + 8 * d * h * h;
    root = 3 * d * d * d;
    draws = count * (2 * head + kNormal * d * h);
    pair = 2 * count * count * d * h * h;
  }
};

}  // namespace headscope
