#include "model/network/stages.h"

#include <algorithm>

namespace headscope {
namespace {

constexpr std::size_t kMostStages = 16;

}  // namespace

std::optional<NetworkStage> resolve_stage(const BlockSource& block) {
  if (!block.match.stage) return std::nullopt;
  NetworkStage stage;
  stage.index = *block.match.stage;
  stage.count = block.match.other_stages.size() + 1;
  if (stage.index + 1 == stage.count) return stage;
  const std::size_t width = block.width;
  PatchMerging merging;
  merging.norm_last = block.match.family->forward.merging_norm_last;
  merging.reduce = block.tensors.linear(block.names.merging, 4 * width, 2 * width);
  merging.norm = *block.norm(block.names.merging_norm, (merging.norm_last ? 2 : 4) * width, /*required=*/true);
  merging.norm.epsilon = kStageEpsilon;
  stage.to_next = merging;
  return stage;
}

std::size_t stages_before(const BlockSource& block) {
  return std::min(block.match.stage.value_or(0), kMostStages);
}

std::size_t first_width(const BlockSource& block) {
  return block.width >> stages_before(block);
}

std::size_t last_width(const BlockSource& block) {
  const std::size_t after = block.match.stage ? block.match.other_stages.size() - stages_before(block) : 0;
  return block.width << std::min(after, kMostStages);
}

}  // namespace headscope
