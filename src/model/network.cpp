#include "headscope/model/network.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "headscope/model/model.h"
#include "model/find_family.h"
#include "model/network/block_source.h"
#include "model/network/input.h"
#include "model/network/layer.h"
#include "model/network/mixers.h"
#include "model/network/output.h"
#include "model/network/score_positions.h"
#include "model/network/side_streams.h"
#include "model/network/stages.h"

namespace headscope {
namespace {

// What the configuration says of all layers.
Network apply_settings(const BlockSource& block) {
  const ForwardSettings& settings = block.settings;
  Network network;
  network.order = block.match.order;
  network.parallel = settings.parallel;
  network.causal = block.causal();
  network.activation = settings.activation;
  network.score_cap = static_cast<float>(settings.score_cap);
  network.clip = static_cast<float>(settings.clip);
  network.branch_factor = static_cast<float>(settings.branch_factor);
  network.joint_head_norms = block.layout.joint_head_norms;
  network.head_norms_last = block.match.family->forward.head_norms_last;
  network.query_growth = settings.query_growth;
  network.query_period = settings.query_period;
  network.query_shift = settings.query_shift;
  network.rotary = settings.rotary;
  network.local_rotary = settings.local_rotary;
  return network;
}

// Resolves one block as if it were the whole network. Cross-attention has neither input nor output of its own.
Network resolve_block(const Model& model, const FamilyMatch& match, Block which) {
  const BlockSource block(model, match, which);
  Network network = apply_settings(block);
  network.bias = resolve_bias(block);
  network.relative = resolve_relative(block);
  if (which != Block::kCross) network.input = resolve_input(block);
  for (std::size_t i = 0; i < block.sizes.layers; ++i) {
    network.layers.push_back(resolve_layer(block, network.input, i));
  }
  if (block.layout.hybrid && !block.names.mixer.in.empty()) network.mixers = resolve_mixers(block);
  if (!block.names.side_streams.in.empty()) network.side_streams = resolve_side_streams(block);
  network.stage = resolve_stage(block);
  if (which != Block::kCross) network.output = resolve_output(block, network.input);
  return network;
}

}  // namespace

Network resolve_network(const Model& model) {
  const FamilyMatch match = find_family(model.checkpoint(), model.info().family, model.info().tower);
  if (!model.info().sizes.has_blocks()) return resolve_block(model, match, Block::kOnly);
  Network network = resolve_block(model, match, Block::kEncoder);
  Network decoder = resolve_block(model, match.of_block(Block::kDecoder), Block::kDecoder);
  Network cross = resolve_block(model, match.of_block(Block::kCross), Block::kCross);
  network.memory_norm = std::move(network.output.norm);
  network.target = std::move(decoder.input);
  network.target_bias = std::move(decoder.bias);
  network.output = std::move(decoder.output);
  std::ranges::move(decoder.layers, std::back_inserter(network.layers));
  std::ranges::move(cross.layers, std::back_inserter(network.layers));
  return network;
}

}  // namespace headscope
