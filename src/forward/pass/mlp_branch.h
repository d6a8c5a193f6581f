#pragma once

#include "forward/pass/pass.h"
#include "headscope/base/matrix.h"
#include "headscope/model/network.h"

namespace headscope {

/// out = the MLP or the mixture of experts of a layer, for all rows of x.
void run_mlp(Pass& pass, const NetworkLayer& layer, MatrixView x, MatrixSpan out);

}  // namespace headscope
