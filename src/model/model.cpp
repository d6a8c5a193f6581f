#include "headscope/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/model/processing_steps.h"
#include "headscope/model/read_weights.h"
#include "model/deduce_sizes.h"
#include "model/find_family.h"
#include "model/fold.h"
#include "model/layer_names.h"
#include "model/map_heads.h"
#include "model/quantization.h"
#include "model/read_heads.h"

namespace headscope {
namespace {

// Returns the first of `names` that the file has in a decodable type, with or without the prefix; empty if none. The
// shape is checked by those who use the tensor.
std::string first_present(const Checkpoint& checkpoint, const std::string& prefix,
                          const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::string& candidate : {prefix + name, name}) {
      const StoredTensor* tensor = checkpoint.find(candidate);
      if (tensor != nullptr && is_decodable(*tensor)) return candidate;
    }
  }
  return {};
}

void describe_biases(const Checkpoint& checkpoint, const FamilyMatch& match, ModelInfo& info) {
  const Layout& layout = *match.layout;
  const bool fused = layout.fusion != Fusion::kNone;
  const std::array<const std::string*, 4> modules = {&layout.q, fused ? &layout.q : &layout.k,
                                                     fused ? &layout.q : &layout.v, &layout.o};
  for (const Role role : kRoles) {
    const auto i = static_cast<std::size_t>(role);
    info.biases[i] = checkpoint.find(match.prefix + layer_name(*modules[i], match.stored(0)) + ".bias") != nullptr;
  }
}

void sort_tensors(const Checkpoint& checkpoint, const HeadMap& map, ModelInfo& info) {
  std::set<const StoredTensor*> used;
  std::set<DType> dtypes;
  for (const LayerTensors& layer : map.layers) {
    for (const HeadSlice& slice : layer.slices) {
      used.insert({slice.tensor, slice.block_scale});
      if (slice.tensor != nullptr) dtypes.insert(slice.tensor->dtype);
    }
    used.insert({layer.norm_gain, layer.memory_gain, layer.output_scale});
  }
  used.insert({checkpoint.find(info.embedding), checkpoint.find(info.unembedding)});
  for (const StoredTensor* tensor : checkpoint.tensors()) {
    (used.contains(tensor) ? info.used : info.ignored).push_back(tensor->name);
  }
  for (const LayerTensors& layer : map.layers) {
    info.missing.insert(info.missing.end(), layer.missing.begin(), layer.missing.end());
  }
  info.dtypes.assign(dtypes.begin(), dtypes.end());
}

[[noreturn]] void reject_incomplete(const Checkpoint& checkpoint, std::size_t layer,
                                    const std::vector<std::string>& missing) {
  throw Error(
      ErrorKind::kFormat,
      fmt::format("{}: layer {} lacks tensor '{}'{}", checkpoint.path().string(), layer, printable(missing.front()),
                  missing.size() == 1 ? "" : fmt::format(" and {} more", missing.size() - 1)));
}

// Whether the files themselves state that family.
bool is_stated_family(const Checkpoint& checkpoint, const Family& family) {
  try {
    return find_family(checkpoint).family == &family;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Model Model::open(const std::filesystem::path& model, const ModelOptions& options) {
  return from_checkpoint(Checkpoint::open(find_model(model, options.revision)), options.family);
}

Model Model::from_checkpoint(Checkpoint checkpoint, std::string_view family) {
  decode_packed_weights(checkpoint);
  const FamilyMatch match = find_family(checkpoint, family);

  ModelInfo info;
  info.family = match.family->name;
  info.family_overridden = !family.empty() && !is_stated_family(checkpoint, *match.family);
  if (info.family_overridden) {
    info.notes.push_back(fmt::format("family {} as requested, not as stated in {}", info.family,
                                     printable(checkpoint.config_path().filename().string())));
  }
  info.modality = match.family->modality;
  info.causal = match.family->causal;
  if (!match.family->remark.empty()) info.notes.push_back(match.family->remark);
  info.norm = match.family->norm;
  info.order = match.order;
  info.input_norm = match.order == NormOrder::kPost || !match.layout->norm.empty();
  info.position = match.position;
  info.sizes = deduce_sizes(checkpoint, match, info.notes);
  info.embedding = first_present(checkpoint, match.prefix, match.layout->embedding);
  info.unembedding = first_present(checkpoint, match.prefix, match.layout->unembedding);
  // Without a tensor of its own, the unembedding is the embedding, unless the file holds a bare model without a head.
  const bool tied =
      checkpoint.is_gguf() || match.config.find("tie_word_embeddings").as_bool().value_or(match.family->tied);
  if (info.unembedding.empty() && !match.layout->unembedding.empty() && tied) info.unembedding = info.embedding;
  describe_biases(checkpoint, match, info);
  HeadMap map = map_blocks(checkpoint, match, info.sizes);
  sort_tensors(checkpoint, map, info);
  return {std::move(checkpoint), std::move(info), std::move(map)};
}

const LayerTensors& Model::layer_tensors(std::size_t layer) const {
  if (layer >= map_.layers.size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: layer {} requested, but the model has {}",
                                                         checkpoint_.path().string(), layer, map_.layers.size()));
  }
  return map_.layers[layer];
}

DType Model::stored_type(std::size_t layer, Role role) const {
  const HeadSlice& slice = layer_tensors(layer).slices[static_cast<std::size_t>(role)];
  if (slice.tensor == nullptr) reject_incomplete(checkpoint_, layer, map_.layers[layer].missing);
  return slice.tensor->dtype;
}

HeadWeights Model::load_heads(std::size_t layer, Role role, WeightProcessing processing, HeadWeights recycled) const {
  const Role roles[] = {role};
  std::array<HeadWeights, 4> loaded;
  loaded[static_cast<std::size_t>(role)] = std::move(recycled);
  load_roles(layer, roles, processing, loaded);
  return std::move(loaded[static_cast<std::size_t>(role)]);
}

std::array<HeadWeights, 4> Model::load_layer(std::size_t layer, WeightProcessing processing,
                                             std::array<HeadWeights, 4> recycled) const {
  std::array<HeadWeights, 4> all = std::move(recycled);
  const auto& slices = layer_tensors(layer).slices;
  std::array<bool, 4> done = {};
  for (std::size_t i = 0; i < 4; ++i) {
    if (done[i]) continue;
    std::vector<Role> roles;
    for (std::size_t j = i; j < 4; ++j) {
      if (slices[j].tensor == slices[i].tensor) roles.push_back(kRoles[j]);
    }
    load_roles(layer, roles, processing, all);
    for (const Role role : roles) done[static_cast<std::size_t>(role)] = true;
  }
  return all;
}

void Model::release_layer(std::size_t layer) const {
  for (const HeadSlice& slice : layer_tensors(layer).slices) {
    if (slice.tensor != nullptr) checkpoint_.release(*slice.tensor);
  }
}

void Model::check_complete(std::size_t layer, Role role, WeightProcessing processing) const {
  const LayerTensors& tensors = layer_tensors(layer);
  const bool folded = steps_of(processing, info_).gain && tensors.normed && map_.gain_required;
  if (tensors.slices[static_cast<std::size_t>(role)].tensor == nullptr ||
      (folded && tensors.gain_for(role) == nullptr) ||
      (role == Role::kO && map_.output_scale_required && tensors.output_scale == nullptr)) {
    reject_incomplete(checkpoint_, layer, tensors.missing);
  }
}

// All roles must be in one tensor. Reuses the memory of `weights`.
void Model::load_roles(std::size_t layer, std::span<const Role> roles, WeightProcessing processing,
                       std::array<HeadWeights, 4>& weights) const {
  const LayerTensors& tensors = layer_tensors(layer);
  const ProcessingSteps steps = steps_of(processing, info_);
  std::vector<HeadRequest> requests;
  for (const Role role : roles) {
    check_complete(layer, role, processing);
    const auto index = static_cast<std::size_t>(role);
    requests.push_back({tensors.slices[index], info_.sizes.heads_of(role), std::move(weights[index]).release(),
                        row_factors(tensors, role, steps.gain)});
  }
  std::vector<ReadHeads> read = read_heads(checkpoint_, requests, info_.sizes.d_head);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    HeadWeights& loaded = weights[static_cast<std::size_t>(roles[i])];
    loaded = HeadWeights(roles[i], info_.sizes.d_model, info_.sizes.d_head, std::move(read[i].values),
                         std::move(read[i].noise));
    fold(loaded, {.factors = requests[i].factors, .remove_mean = steps.center && centered(tensors, roles[i])});
  }
}

std::vector<float> Model::row_factors(const LayerTensors& tensors, Role role, bool gain) const {
  std::vector<float> factors;
  const auto read_factors = [&](const StoredTensor& tensor, float offset) {
    factors = read_vector(checkpoint_, tensor);
    for (float& factor : factors) factor += offset;
  };
  const bool writes = role == Role::kO;
  if (writes && tensors.output_scale != nullptr) read_factors(*tensors.output_scale, map_.output_scale_offset);
  if (!writes && gain && tensors.gain_for(role) != nullptr) read_factors(*tensors.gain_for(role), map_.norm_offset);
  return factors;
}

void require_one_block(const Model& model, std::string_view what) {
  if (!model.info().sizes.has_blocks()) return;
  throw Error(ErrorKind::kUnsupported, fmt::format("{}: has an encoder and a decoder, which {} does not take",
                                                   model.checkpoint().path().string(), what));
}

}  // namespace headscope
