#pragma once

#include <vector>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the layers of a hybrid that have no attention, and where they are.
[[nodiscard]] std::vector<MixerLayer> resolve_mixers(const BlockSource& block);

}  // namespace headscope
