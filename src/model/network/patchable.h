#pragma once

#include <string>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Why edges between the heads of a network cannot be cut, although it can be run (`Network::no_patch`).
[[nodiscard]] std::string why_not_patchable(const BlockSource& block, const Network& network);

}  // namespace headscope
