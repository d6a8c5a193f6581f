#pragma once

#include <span>

#include "headscope/model/head_weights.h"

namespace headscope {

/// What a norm or a scale does to the residual stream, folded into the heads.
struct Fold {
  /// W <- diag(factors) W: channel i scaled by factors[i]. Empty for no scaling.
  std::span<const float> factors = {};
  /// Then W <- (I - 11^T/d) W: projects out the all-ones direction, i.e. subtracts the mean from each column.
  bool remove_mean = false;
};

/// Applies the fold to every head's matrix, in place.
void fold(HeadWeights& weights, const Fold& fold);

}  // namespace headscope
