#include "model/network/score_positions.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>

#include "headscope/base/error.h"

namespace headscope {
namespace {

// The slopes of 2^k heads, in order; of another number of heads the slopes for the next power of two, every second one
// first.
std::vector<float> alibi_slopes(const BlockSource& block) {
  const std::size_t heads = block.sizes.heads;
  const std::size_t all = std::bit_ceil(heads);
  const double scale = block.match.family->forward.scaled_alibi ? block.settings.score_scale : 1;
  std::vector<float> slopes;
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t i = all == heads ? head + 1 : head < all / 2 ? 2 * head + 2 : 2 * (head - all / 2) + 1;
    const double power = static_cast<double>(i) * block.settings.alibi_max / static_cast<double>(all);
    slopes.push_back(static_cast<float>(std::exp2(-power) * scale));
  }
  return slopes;
}

const StoredTensor* bias_table(const BlockSource& block, const std::string& name, std::size_t max_distance) {
  const StoredTensor* table = block.tensors.required(name);
  const Shape& shape = table->shape;
  if (shape.size() != 2 || shape[0] < 4 || shape[0] % 4 != 0 || shape[0] > max_distance ||
      shape[1] != block.sizes.heads) {
    block.tensors.wrong_shape(
        *table, fmt::format("[buckets, {}], a multiple of 4 buckets, at most {}", block.sizes.heads, max_distance));
  }
  return table;
}

bool has_distance_bias(const BlockSource& block) {
  const PositionKind position = block.match.position;
  return block.block != Block::kCross &&
         (position == PositionKind::kRelativeBias || position == PositionKind::kDistanceBias);
}

bool is_per_layer(const std::string& name) {
  return name.find("{i}") != std::string::npos;
}

void check_buckets(const BlockSource& block, const RelativePositions& positions) {
  const std::size_t middle = positions.buckets / 2;
  if (positions.buckets == 0 || (middle >= 2 && positions.longest >= middle + 2)) return;
  throw Error(ErrorKind::kFormat,
              fmt::format("{}: {} buckets for relative positions up to {}, expected at least 4, and positions beyond "
                          "half of them",
                          block.checkpoint.config_path().string(), positions.buckets, positions.longest));
}

// A bias of Transformer-XL, which layers may share; nullptr if the family has none.
const StoredTensor* relative_head_bias(const BlockSource& block, const std::string& name, std::size_t layer) {
  if (name.empty()) return nullptr;
  const NetworkTensors& tensors = block.tensors;
  const std::string own = tensors.named(name, layer);
  const StoredTensor* tensor = tensors.readable(own);
  if (tensor == nullptr) tensor = tensors.readable(name.substr(name.rfind('.') + 1));
  if (tensor == nullptr) tensors.lacks(own);
  const Shape expected = {block.sizes.heads, block.sizes.d_head};
  if (tensor->shape != expected) tensors.wrong_shape(*tensor, to_string(expected));
  return tensor;
}

}  // namespace

ScoreBias resolve_bias(const BlockSource& block) {
  ScoreBias bias;
  const PositionKind position = block.match.position;
  if (position == PositionKind::kAlibi) bias.slopes = alibi_slopes(block);
  if (has_distance_bias(block) && !is_per_layer(block.names.relative_bias)) {
    bias.max_distance = block.settings.bias_distance;
    bias.table = bias_table(block, block.names.relative_bias, bias.max_distance);
  }
  return bias;
}

ScoreBias resolve_bias(const BlockSource& block, std::size_t layer) {
  ScoreBias bias;
  if (has_distance_bias(block) && is_per_layer(block.names.relative_bias)) {
    bias.max_distance = block.settings.bias_distance;
    bias.table = bias_table(block, block.tensors.named(block.names.relative_bias, layer), bias.max_distance);
  }
  return bias;
}

RelativePositions resolve_relative(const BlockSource& block) {
  const ForwardSettings& settings = block.settings;
  RelativePositions positions;
  if (!settings.relative) return positions;
  positions.buckets = settings.relative_buckets;
  positions.longest = settings.relative_longest;
  positions.sinusoidal = block.match.position == PositionKind::kRelative;
  if (positions.sinusoidal) return positions;
  check_buckets(block, positions);
  positions.span = positions.buckets > 0 ? positions.buckets : positions.longest;
  positions.table = block.tensors.table(block.names.relative_table, block.width);
  if (positions.table == nullptr) block.tensors.lacks(block.names.relative_table);
  const Shape& shape = positions.table->shape;
  if (positions.span == 0 || shape.size() != 2 || shape[0] < 2 * positions.span) {
    block.tensors.wrong_shape(*positions.table, fmt::format("at least [{}, {}]", 2 * positions.span, block.width));
  }
  if (settings.relative_normed) {
    positions.norm = block.norm(block.names.relative_norm, block.width, /*required=*/true);
  }
  return positions;
}

void resolve_relative(const BlockSource& block, std::size_t i, NetworkLayer& layer) {
  const ForwardNames& names = block.names;
  const std::size_t out = block.sizes.heads * block.sizes.d_head;
  const auto projection = [&](const std::string& own, const std::string& heads) {
    const std::string& module = block.settings.relative_shared ? heads : own;
    return block.tensors.linear(block.tensors.named(module, i), block.width, out, block.layout.storage);
  };
  if (block.settings.relative_keys) layer.relative_key = projection(names.relative_key, block.layout.k);
  if (block.settings.relative_queries) layer.relative_query = projection(names.relative_query, block.layout.q);
  layer.content_bias = relative_head_bias(block, names.content_bias, i);
  layer.position_bias = relative_head_bias(block, names.position_bias, i);
}

const StoredTensor* find_grid_bias(const BlockSource& block, const NetworkInput& in, std::size_t layer) {
  const NetworkTensors& tensors = block.tensors;
  if (block.names.grid_bias.empty()) return nullptr;
  const StoredTensor* table = tensors.readable(tensors.named(block.names.grid_bias, layer));
  if (table == nullptr) table = tensors.readable(block.names.shared_grid_bias);
  if (table == nullptr) return nullptr;
  const Shape& kernel = in.patches.weight->shape;
  const std::size_t height = in.image_height / kernel[kernel.size() - 2];
  const std::size_t width = in.image_width / kernel.back();
  if (height == 0 || height != width) tensors.unsupported("does not say that its images are square");
  if (in.leading.size() != 1) tensors.unsupported("has no class token");
  const Shape expected = {(2 * height - 1) * (2 * width - 1) + 3, block.sizes.heads};
  if (table->shape != expected) tensors.wrong_shape(*table, to_string(expected));
  return table;
}

}  // namespace headscope
