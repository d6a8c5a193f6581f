#pragma once

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/io/checkpoint.h"
#include "headscope/model/network.h"

namespace headscope {

/// Applies what a layer of a hybrid has in place of attention to the normalized stream of one input: out = mixer(x).
void apply_mixer(const Checkpoint& checkpoint, const MixerLayer& mixer, MatrixView x, MatrixSpan out,
                 Buffer<float>& scratch);

/// Floats per token that `apply_mixer` needs.
[[nodiscard]] std::size_t mixer_width(const MixerLayer& mixer);

}  // namespace headscope
