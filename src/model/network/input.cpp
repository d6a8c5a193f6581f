#include "model/network/input.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "model/block_scale.h"
#include "model/layer_names.h"
#include "model/network/stages.h"

namespace headscope {
namespace {

// The decoder may have an embedding of its own.
std::string embedding_name(const BlockSource& block) {
  if (block.block == Block::kDecoder) {
    for (const std::string& name : block.layout.embedding) {
      if (const StoredTensor* tensor = block.tensors.find(name)) return tensor->name;
    }
  }
  return block.model.info().embedding;
}

// Rows of embeddings are read one by one, without block factors.
void reject_block_scale(const BlockSource& block, const StoredTensor& embedding) {
  if (find_block_scale(block.checkpoint, embedding) == nullptr) return;
  block.tensors.unsupported("has an embedding in FP8 blocks");
}

void resolve_embedding_tables(const BlockSource& block, NetworkInput& in) {
  const NetworkTensors& tensors = block.tensors;
  const ForwardNames& names = block.names;
  for (std::size_t i = 0;; ++i) {
    const StoredTensor* rows = tensors.find(layer_name(names.embedding_tables, i));
    if (rows == nullptr) break;
    const std::string projection_name = layer_name(names.embedding_projections, i);
    const StoredTensor* projection = tensors.readable(projection_name);
    in.tables.push_back({tensors.vocabulary_matrix(rows->name), projection});
    const std::size_t width = rows->shape[1];
    if (projection == nullptr && width != block.width) tensors.lacks(projection_name);
    const Shape expected = {block.width, width};
    if (projection != nullptr && projection->shape != expected) tensors.wrong_shape(*projection, to_string(expected));
  }
  if (in.tables.empty()) tensors.lacks(layer_name(names.embedding_tables, 0));
  in.embedding = in.tables.front().rows;
}

// Width of what positions and token types are added to.
std::size_t placed_width(const BlockSource& block, const NetworkInput& in) {
  return in.narrow ? in.embedding->shape[1] : first_width(block);
}

void resolve_text(const BlockSource& block, NetworkInput& in) {
  const ForwardNames& names = block.names;
  const std::size_t width = block.width;
  if (names.embedding_tables.empty()) {
    in.embedding = block.tensors.vocabulary_matrix(embedding_name(block));
    if (in.embedding == nullptr) block.tensors.lacks(block.layout.embedding.front());
  } else {
    resolve_embedding_tables(block, in);
  }
  reject_block_scale(block, *in.embedding);
  const std::size_t embedded = in.embedding->shape[1];
  if (in.tables.empty() && embedded != width && names.project_in.empty()) {
    block.tensors.wrong_shape(*in.embedding, fmt::format("[vocabulary, {}]", width));
  }
  const bool maps = names.narrow_embedding && block.tensors.find(names.project_in + ".weight") != nullptr;
  if (in.tables.empty() && (embedded != width || maps)) {
    in.project = block.tensors.linear(names.project_in, embedded, width);
  }
  if (block.settings.scaled_embedding) in.embedding_scale = std::sqrt(static_cast<float>(width));
  in.embedding_scale *= static_cast<float>(block.settings.embedding_factor);
  in.dropped_token = block.settings.dropped_token;
  in.narrow = names.narrow_embedding;
  in.token_types = block.tensors.table(names.token_types, placed_width(block, in));
}

void resolve_audio(const BlockSource& block, NetworkInput& in) {
  std::size_t channels = 0;  // of the first, as the file says
  for (const std::string& name : block.names.convolutions) {
    const StoredTensor* bias = block.tensors.vector(name + ".bias", block.width);
    const StoredLinear one{.weight = block.tensors.required(name + ".weight"), .bias = bias};
    const Shape& shape = one.weight->shape;
    if (shape.size() != 3 || shape[0] != block.width || shape[1] == 0 || (channels > 0 && shape[1] != channels) ||
        shape[2] % 2 == 0 || shape[2] > 99) {
      block.tensors.wrong_shape(*one.weight, fmt::format("[{}, channels, an odd width]", block.width));
    }
    channels = block.width;
    in.convolutions.push_back(one);
  }
}

void resolve_image(const BlockSource& block, NetworkInput& in) {
  const NetworkTensors& tensors = block.tensors;
  const ForwardNames& names = block.names;
  in.patches.weight = tensors.required(names.patches + ".weight");
  const std::size_t width = first_width(block);
  const Shape& shape = in.patches.weight->shape;
  // A linear map of the pixels of a patch takes images of any shape.
  in.patch_side = shape.size() == 2 ? block.settings.patch_side : 0;
  const std::size_t pixels = in.patch_side * in.patch_side;
  const bool linear = pixels > 0 && shape[1] % pixels == 0;
  const bool fits = (linear || shape.size() == 4 || shape.size() == 5) && shape[0] == width;
  if (!fits || element_count(shape).value_or(0) == 0) {
    tensors.wrong_shape(*in.patches.weight,
                        fmt::format("[{}, channels, patch, patch], or with frames after channels", width));
  }
  in.patches.bias = tensors.vector(names.patches + ".bias", width);
  for (const std::string& name : names.leading) {
    if (const StoredTensor* token = tensors.table(name, block.width)) in.leading.push_back(token);
  }
  in.registers = tensors.table(names.registers, block.width);
  if (!names.registers.empty() && in.registers == nullptr) tensors.lacks(names.registers);
  const ForwardRules& rules = block.match.family->forward;
  // Rotary positions exist for images of any size.
  in.interpolate = linear || rules.interpolated_positions || block.settings.rotary.grid != RotaryGrid::kNone;
  in.merged = std::size_t{1} << stages_before(block);
  if (!names.window_bias.empty() || !names.window_bias_inner.empty()) {
    in.multiple = block.settings.patch_windows.at(0).side;
  }
  in.between_corners = rules.positions_between_corners;
  in.image_height = block.settings.image_height;
  in.image_width = block.settings.image_width;
}

void resolve_token_inputs(const BlockSource& block, NetworkInput& in) {
  in.token_inputs = block.tensors.readable(block.names.token_inputs);
  if (in.token_inputs == nullptr) return;
  const Shape& shape = in.token_inputs->shape;
  const std::size_t layers = block.sizes.layers;
  if (shape.size() != 2 || shape[1] == 0 || shape[1] % layers != 0) {
    block.tensors.wrong_shape(*in.token_inputs, fmt::format("[vocabulary, a multiple of {} layers]", layers));
  }
  reject_block_scale(block, *in.token_inputs);
  in.token_projection = block.tensors.linear(block.names.token_projection, block.width, shape[1]);
  in.token_norm = block.norm(block.names.token_norm, shape[1] / layers, /*required=*/true);
}

void resolve_positions(const BlockSource& block, NetworkInput& in) {
  const PositionKind position = block.match.position;
  in.positions = block.tensors.table(block.names.positions, placed_width(block, in));
  const bool learned = position == PositionKind::kLearned || position == PositionKind::kLearnedOffset ||
                       position == PositionKind::kRelativeBias ||
                       (position == PositionKind::kDisentangled && block.settings.absolute);
  if (learned && in.positions == nullptr) block.tensors.lacks(block.names.positions);
  const bool either = position == PositionKind::kGridBias || position == PositionKind::kRotaryGrid;
  const bool fixed = position == PositionKind::kSinusoidal;  // some files have them, in their own precision
  if (!learned && !either && !fixed) in.positions = nullptr;
  in.position_offset = block.settings.position_offset;
  if (fixed && in.positions == nullptr) in.sinusoids = block.settings.positions;
  in.closed_sinusoids = block.match.family->forward.closed_sinusoids;
  in.padding = block.settings.padding;
}

}  // namespace

NetworkInput resolve_input(const BlockSource& block) {
  NetworkInput in;
  const ForwardNames& names = block.names;
  if (block.match.family->modality == Modality::kImage) {
    resolve_image(block, in);
  } else if (!names.convolutions.empty()) {
    resolve_audio(block, in);
  } else {
    resolve_text(block, in);
  }
  if (!names.token_inputs.empty()) resolve_token_inputs(block, in);
  resolve_positions(block, in);
  in.norm = block.norm(names.embedding_norm, placed_width(block, in), /*required=*/!names.embedding_norm.empty());
  in.norm_first = names.norm_before_positions;
  if (in.norm && block.match.stage) in.norm->epsilon = kStageEpsilon;
  return in;
}

}  // namespace headscope
