#include "headscope/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/model/processing_steps.h"
#include "headscope/model/read_weights.h"
#include "model/compose_heads.h"
#include "model/deduce_sizes.h"
#include "model/find_family.h"
#include "model/fold.h"
#include "model/layer_names.h"
#include "model/map_heads.h"
#include "model/quantization.h"
#include "model/read_heads.h"
#include "model/towers.h"

namespace headscope {
namespace {

// Returns the first of `names` that the file has in a decodable type, with or without the prefix; empty if none. The
// shape is checked by those who use the tensor.
std::string first_present(const Checkpoint& checkpoint, const std::string& prefix,
                          const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const std::string_view outer : enclosing_prefixes(prefix)) {
      std::string candidate = std::string(outer) + name;
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
    if (!layer.latent) continue;
    for (const LatentFactor* factor : {&layer.latent->query, &layer.latent->key_value}) {
      used.insert({factor->down.tensor, factor->down.block_scale, factor->gain});
      if (factor->down.tensor != nullptr) dtypes.insert(factor->down.tensor->dtype);
    }
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

// The most that the factors of one role's composed matrices take as floats.
std::size_t loading_memory(const HeadMap& map, const HeadSizes& sizes) {
  std::size_t most = 0;
  for (const LayerTensors& layer : map.layers) {
    if (!layer.latent) continue;
    for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
      const LatentFactor& factor = layer.latent->of(role);
      if (factor.down.tensor == nullptr) continue;
      const std::size_t columns = saturating_add(sizes.d_model, saturating_multiply(sizes.heads, sizes.width(role)));
      most = std::max(most, saturating_multiply(factor.rank * sizeof(float), columns));
    }
  }
  return most;
}

[[noreturn]] void reject_incomplete(const Checkpoint& checkpoint, std::size_t layer,
                                    const std::vector<std::string>& missing) {
  throw Error(
      ErrorKind::kFormat,
      fmt::format("{}: layer {} lacks tensor '{}'{}", checkpoint.path().string(), layer, printable(missing.front()),
                  missing.size() == 1 ? "" : fmt::format(" and {} more", missing.size() - 1)));
}

// Whether the files themselves state that family.
bool is_stated_family(const Checkpoint& checkpoint, const Family& family, std::string_view tower) {
  try {
    return find_family(checkpoint, {}, tower).family == &family;
  } catch (const Error&) {
    return false;
  }
}

// Returns the towers of the checkpoint, apart from this one, whose family is known and whose tensors are there.
std::vector<std::string> other_towers(const Checkpoint& checkpoint, std::string_view tower) {
  std::vector<std::string> names;
  for (const Tower& one : towers_of(checkpoint)) {
    const std::string name(tower_name(one.modality));
    if (name == tower) continue;
    try {
      static_cast<void>(find_family(checkpoint, {}, name));
      names.push_back(name);
    } catch (const Error&) {
      continue;  // e.g. CLIPVisionModel, whose configuration describes both
    }
  }
  return names;
}

}  // namespace

Model Model::open(const std::filesystem::path& model, const ModelOptions& options) {
  return from_checkpoint(Checkpoint::open(find_model(model, options.revision)), options.family, options.tower);
}

Model Model::from_checkpoint(Checkpoint checkpoint, std::string_view family, std::string_view tower) {
  decode_packed_weights(checkpoint);
  return from_shared(std::make_shared<const Checkpoint>(std::move(checkpoint)), family, tower);
}

Model Model::of_tower(std::string_view tower) const {
  return from_shared(checkpoint_, info_.family_overridden ? std::string_view(info_.family) : "", tower);
}

Model Model::from_shared(std::shared_ptr<const Checkpoint> checkpoint, std::string_view family,
                         std::string_view tower) {
  const FamilyMatch match = find_family(*checkpoint, family, tower);

  ModelInfo info;
  info.family = match.family->name;
  info.family_overridden = !family.empty() && !is_stated_family(*checkpoint, *match.family, tower);
  info.tower = match.tower;
  info.tower_requested = !match.tower.empty() && !tower.empty();
  info.other_towers = match.other_stages;
  if (!match.tower.empty() && !match.stage) info.other_towers = other_towers(*checkpoint, match.tower);
  if (info.family_overridden) {
    info.notes.push_back(fmt::format("family {} as requested, not as stated in {}", info.family,
                                     printable(checkpoint->config_path().filename().string())));
  }
  info.modality = match.family->modality;
  info.causal = match.causal;
  if (!match.family->remark.empty()) info.notes.push_back(match.family->remark);
  info.norm = match.family->norm;
  info.order = match.order;
  info.input_norm = match.order == NormOrder::kPost || !match.layout->norm.empty();
  info.position = match.position;
  info.sizes = deduce_sizes(*checkpoint, match, info.notes);
  info.embedding = first_present(*checkpoint, match.prefix, match.layout->embedding);
  info.unembedding = first_present(*checkpoint, match.prefix, match.layout->unembedding);
  // Without a tensor of its own, the unembedding is the embedding, unless the file holds a bare model without a head.
  // The whole model's key counts; a tower's own may say otherwise.
  const bool stated = match.config.find("tie_word_embeddings").as_bool().value_or(match.family->tied);
  const bool tied =
      checkpoint->is_gguf() || checkpoint->config().find("tie_word_embeddings").as_bool().value_or(stated);
  if (info.unembedding.empty() && !match.layout->unembedding.empty() && tied) info.unembedding = info.embedding;
  describe_biases(*checkpoint, match, info);
  HeadMap map = map_blocks(*checkpoint, match, info.sizes);
  info.loading_memory = loading_memory(map, info.sizes);
  sort_tensors(*checkpoint, map, info);
  return {std::move(checkpoint), std::move(info), std::move(map)};
}

const LayerTensors& Model::layer_tensors(std::size_t layer) const {
  if (layer >= map_.layers.size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: layer {} requested, but the model has {}",
                                                         checkpoint_->path().string(), layer, map_.layers.size()));
  }
  return map_.layers[layer];
}

DType Model::stored_type(std::size_t layer, Role role) const {
  const HeadSlice& slice = layer_tensors(layer).slices[static_cast<std::size_t>(role)];
  if (slice.tensor == nullptr) check_complete(layer, role, WeightProcessing::kRaw);
  if (slice.tensor == nullptr) reject_incomplete(*checkpoint_, layer, map_.layers[layer].missing);
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
    if (info_.sizes.heads_of(layer, kRoles[i]) == 0) {
      all[i] = {};
      continue;
    }
    if (done[i]) continue;
    std::vector<Role> roles;
    for (std::size_t j = i; j < 4; ++j) {
      const bool exists = info_.sizes.heads_of(layer, kRoles[j]) > 0;
      if (exists && slices[j].tensor == slices[i].tensor) roles.push_back(kRoles[j]);
    }
    load_roles(layer, roles, processing, all);
    for (const Role role : roles) done[static_cast<std::size_t>(role)] = true;
  }
  return all;
}

void Model::release_layer(std::size_t layer) const {
  for (const HeadSlice& slice : layer_tensors(layer).slices) {
    if (slice.tensor != nullptr) checkpoint_->release(*slice.tensor);
  }
  const auto& latent = layer_tensors(layer).latent;
  if (!latent) return;
  for (const LatentFactor* factor : {&latent->query, &latent->key_value}) {
    if (factor->down.tensor != nullptr) checkpoint_->release(*factor->down.tensor);
  }
}

HeadWeights Model::load_rotary_key(std::size_t layer, WeightProcessing processing) const {
  const LayerTensors& tensors = layer_tensors(layer);
  if (!tensors.latent || info_.sizes.d_rotary == 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: the heads of a layer share no rotary key", checkpoint_->path().string()));
  }
  check_complete(layer, Role::kK, processing);
  const ProcessingSteps steps = steps_of(processing, info_);
  HeadRequest request{
      tensors.latent->rotary_key, 1, info_.sizes.d_rotary, {}, row_factors(tensors, Role::kK, steps.gain)};
  ReadHeads read = std::move(read_heads(*checkpoint_, std::span(&request, 1)).front());
  HeadWeights loaded(Role::kK, info_.sizes.d_model, info_.sizes.d_rotary, std::move(read.values),
                     std::move(read.noise));
  fold(loaded, {.factors = request.factors, .remove_mean = steps.center && centered(tensors, Role::kK)});
  return loaded;
}

void Model::check_complete(std::size_t layer, Role role, WeightProcessing processing) const {
  const LayerTensors& tensors = layer_tensors(layer);
  if (info_.sizes.heads_of(layer, role) == 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: layer {} has no {} of its own: its queries use those of layer {}",
                            checkpoint_->path().string(), layer, letter(role), info_.sizes.kv_layer(layer)));
  }
  const bool folded = steps_of(processing, info_).gain && tensors.normed && map_.gain_required;
  const auto lacks_factor = [&] {
    if (!tensors.latent || role == Role::kO) return false;
    const LatentFactor& factor = tensors.latent->of(role);
    return factor.rank > 0 && (factor.down.tensor == nullptr || factor.gain == nullptr);
  };
  if (tensors.slices[static_cast<std::size_t>(role)].tensor == nullptr || lacks_factor() ||
      (folded && tensors.gain_for(role) == nullptr) ||
      (role == Role::kO && map_.output_scale_required && tensors.output_scale == nullptr)) {
    reject_incomplete(*checkpoint_, layer, tensors.missing);
  }
}

// All roles must be in one tensor. Reuses the memory of `weights`.
void Model::load_roles(std::size_t layer, std::span<const Role> roles, WeightProcessing processing,
                       std::array<HeadWeights, 4>& weights) const {
  const LayerTensors& tensors = layer_tensors(layer);
  const ProcessingSteps steps = steps_of(processing, info_);
  for (const Role role : roles) check_complete(layer, role, processing);
  if (tensors.latent && roles.front() != Role::kO && tensors.latent->of(roles.front()).rank > 0) {
    compose_roles(layer, roles, steps, weights);
    return;
  }
  std::vector<HeadRequest> requests;
  for (const Role role : roles) {
    const auto index = static_cast<std::size_t>(role);
    requests.push_back({tensors.slices[index], info_.sizes.heads_of(layer, role), info_.sizes.width(layer, role),
                        std::move(weights[index]).release(), row_factors(tensors, role, steps.gain)});
  }
  std::vector<ReadHeads> read = read_heads(*checkpoint_, requests);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    HeadWeights& loaded = weights[static_cast<std::size_t>(roles[i])];
    loaded = HeadWeights(roles[i], info_.sizes.d_model, requests[i].width, std::move(read[i].values),
                         std::move(read[i].noise));
    fold(loaded, {.factors = requests[i].factors, .remove_mean = steps.center && centered(tensors, roles[i])});
  }
}

// The same for roles that read a latent.
void Model::compose_roles(std::size_t layer, std::span<const Role> roles, const ProcessingSteps& steps,
                          std::array<HeadWeights, 4>& weights) const {
  const LayerTensors& tensors = layer_tensors(layer);
  const std::vector<float> factors = row_factors(tensors, roles.front(), steps.gain);
  std::vector<HeadRequest> requests;
  for (const Role role : roles) {
    const auto index = static_cast<std::size_t>(role);
    requests.push_back({tensors.slices[index], info_.sizes.heads_of(role), info_.sizes.width(role),
                        std::move(weights[index]).release()});
  }
  const Fold fold{.factors = factors, .remove_mean = steps.center && centered(tensors, roles.front())};
  std::vector<ReadHeads> composed = compose_heads(*checkpoint_, tensors.latent->of(roles.front()), requests, fold);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    weights[static_cast<std::size_t>(roles[i])] = HeadWeights(
        roles[i], info_.sizes.d_model, requests[i].width, std::move(composed[i].values), std::move(composed[i].noise));
  }
}

std::vector<float> Model::row_factors(const LayerTensors& tensors, Role role, bool gain) const {
  std::vector<float> factors;
  const auto read_factors = [&](const StoredTensor& tensor, float offset) {
    factors = read_vector(*checkpoint_, tensor);
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
