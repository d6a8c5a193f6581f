#include "model/network/patchable.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "headscope/base/error.h"

namespace headscope {
namespace {

bool has_gains_by_head(const std::optional<StoredNorm>& norm) {
  return norm && norm->gain != nullptr && (norm->gain->shape.size() > 1 || !norm->other_gains.empty());
}

}  // namespace

std::string why_not_patchable(const BlockSource& block, const Network& network) {
  if (!network.relative.empty()) return "its scores compare queries and keys with relative positions";
  if (block.sizes.d_rotary > 0) {
    return "its heads share a rotary key, and their other keys and values come from one latent";
  }
  if (network.joint_head_norms) return "its queries and keys are normalized over all heads together";
  const auto has_windows = [](const NetworkLayer& layer) { return !layer.patch_windows.empty(); };
  if (std::ranges::any_of(network.layers, has_windows)) return "its patches attend within windows of the image";
  const bool has_bias = !network.bias.empty() || block.match.position == PositionKind::kGridBias;
  if (has_bias) return "its scores have a bias by distance";
  if (network.rotary.grid != RotaryGrid::kNone) return "its rotary positions are those of an image's patches";
  if (network.clip > 0) return "its queries, keys and values are clipped";
  if (network.branch_factor != 1) return "the outputs of its branches are multiplied by a constant";
  if (!block.sizes.by_layer.empty()) return "its layers have heads of different sizes, or share keys and values";
  if (network.input.token_inputs != nullptr) return "its layers have token embeddings of their own";
  const auto by_head = [](const NetworkLayer& layer) {
    return has_gains_by_head(layer.q_norm) || has_gains_by_head(layer.k_norm);
  };
  if (std::ranges::any_of(network.layers, by_head)) return "each head has a norm of its own";
  return "";
}

void require_patchable(const Model& model, const Network& network) {
  if (network.no_patch.empty()) return;
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: cannot cut edges between heads of this model: {}",
                                                   model.checkpoint().path().string(), network.no_patch));
}

}  // namespace headscope
