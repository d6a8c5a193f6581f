#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/config_reader.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the mixer of a layer, numbered as in the file, by the names of the family's `MixerNames`.
[[nodiscard]] SelectiveState resolve_selective_state(const BlockSource& block, std::size_t stored);
[[nodiscard]] GroupedState resolve_grouped_state(const BlockSource& block, const ConfigReader& config,
                                                 std::size_t stored);

/// The short convolution of any mixer, [width, 1, taps] or, in GGUF, [width, taps], and its bias; nullptr for none.
[[nodiscard]] const StoredTensor* resolve_mixer_kernel(const BlockSource& block, std::size_t stored, std::size_t width);
[[nodiscard]] const StoredTensor* resolve_mixer_kernel_bias(const BlockSource& block, std::size_t stored,
                                                            std::size_t width);

}  // namespace headscope
