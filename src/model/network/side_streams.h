#pragma once

#include <cstddef>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Resolves the streams beside the main one, as many as the file has maps to.
[[nodiscard]] SideStreams resolve_side_streams(const BlockSource& block);

/// Resolves how a block treats all streams.
[[nodiscard]] StreamUpdate resolve_stream_update(const BlockSource& block, std::size_t layer);

}  // namespace headscope
