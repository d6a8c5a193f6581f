#include "relate/head_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

std::set<std::size_t> checked(std::span<const std::size_t> chosen, std::size_t count, std::string_view what) {
  std::set<std::size_t> sorted(chosen.begin(), chosen.end());
  if (!sorted.empty() && *sorted.rbegin() >= count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} {} requested, but the model has {}, numbered from 0", what, *sorted.rbegin(), count));
  }
  return sorted;
}

std::set<std::size_t> all(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return {numbers.begin(), numbers.end()};
}

void check(HeadId id, const HeadSizes& sizes, const std::set<std::size_t>& layers) {
  std::string trouble;
  if (id.key_value) {
    trouble = "only query heads can be selected; choose those that use it";
  } else if (!sizes.layer_of(id)) {
    trouble = fmt::format("the model has {}, numbered from 0{}", sizes.text(),
                          sizes.has_blocks() ? ": name one such as cross.L0H0" : "");
  } else if (!layers.contains(*sizes.layer_of(id))) {
    trouble = fmt::format("layer {} is not among the chosen ones", id.layer);
  }
  if (trouble.empty()) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("head {} requested, but {}", to_string(id), trouble));
}

// The layers with these numbers in their blocks.
std::set<std::size_t> in_every_block(std::span<const std::size_t> numbers, const HeadSizes& sizes) {
  if (!sizes.has_blocks()) return checked(numbers, sizes.layers, "layer");
  const std::set<std::size_t> chosen = checked(numbers, std::max(sizes.encoder_layers, sizes.decoder_layers), "layer");
  std::set<std::size_t> layers;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    if (chosen.contains(sizes.place(layer).layer)) layers.insert(layer);
  }
  return layers;
}

}  // namespace

std::size_t LayerHeads::most() const noexcept {
  std::size_t most = 0;
  for (const std::vector<std::size_t>& heads : heads_) most = std::max(most, heads.size());
  return most;
}

HeadSelection::HeadSelection(const HeadSizes& sizes, std::span<const std::size_t> layers,
                             std::span<const std::size_t> heads, std::span<const HeadId> named) {
  const std::set<std::size_t> chosen_layers = layers.empty() ? all(sizes.layers) : in_every_block(layers, sizes);
  const bool all_heads = heads.empty() && named.empty();
  const std::set<std::size_t> in_every_layer = all_heads ? all(sizes.heads) : checked(heads, sizes.heads, "head");
  for (const HeadId id : named) check(id, sizes, chosen_layers);

  for (const std::size_t layer : chosen_layers) {
    std::set<std::size_t> query = in_every_layer;
    for (const HeadId id : named) {
      if (sizes.layer_of(id) == layer) query.insert(id.head);
    }
    if (query.empty()) continue;
    std::set<std::size_t> key_value;
    if (sizes.heads_of(layer, Role::kK) > 0) {
      for (const std::size_t head : query) key_value.insert(head / sizes.queries_per_kv(layer));
    }
    layers_.push_back(layer);
    query_.add_layer({query.begin(), query.end()});
    kv_.add_layer({key_value.begin(), key_value.end()});
  }
}

}  // namespace headscope
