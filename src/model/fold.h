#pragma once

#include <span>

#include "headscope/model/head_weights.h"

namespace headscope {

/// W <- diag(factors) W for every head: channel i of the residual stream scaled by factors[i].
void scale_channels(HeadWeights& weights, std::span<const float> factors);

/// W <- (I - 11^T/d) W for every head: the all-ones direction projected out, i.e. each column loses its mean.
void remove_mean(HeadWeights& weights);

}  // namespace headscope
