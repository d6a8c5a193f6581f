#pragma once

#include <cstddef>
#include <optional>

#include "headscope/model/network.h"
#include "model/network/block_source.h"

namespace headscope {

/// Epsilon of Swin's norms of embedded and of merged patches, whatever the configuration says of the others.
inline constexpr double kStageEpsilon = 1e-5;

/// Resolves which stage the layers are, and what lies between it and the next; nothing if the model has no stages.
[[nodiscard]] std::optional<NetworkStage> resolve_stage(const BlockSource& block);

/// The number of stages before this one.
[[nodiscard]] std::size_t stages_before(const BlockSource& block);
/// Width of the stream of the first stage, which doubles from one to the next, and of the last.
[[nodiscard]] std::size_t first_width(const BlockSource& block);
[[nodiscard]] std::size_t last_width(const BlockSource& block);

}  // namespace headscope
