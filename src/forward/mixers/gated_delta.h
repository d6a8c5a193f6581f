#pragma once

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/network.h"

namespace headscope {

/// out = linear attention by the gated delta rule, for the tokens of one input.
void apply_gated_delta(const Checkpoint& checkpoint, const GatedDelta& mixer, MatrixView x, MatrixSpan out,
                       Buffer<float>& scratch);

}  // namespace headscope
