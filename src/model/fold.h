#pragma once

#include <span>

#include "headscope/model/head_weights.h"

namespace headscope {

/// What a norm or a scale does to the residual stream, moved into the heads.
struct Fold {
  /// W <- diag(factors) W: channel i scaled by factors[i]. Empty for no scaling.
  std::span<const float> factors = {};
  /// Then W <- (I - 11^T/d) W: the all-ones direction projected out, i.e. each column loses its mean.
  bool remove_mean = false;
};

/// Applies it to every head's matrix.
void fold(HeadWeights& weights, const Fold& fold);

}  // namespace headscope
