#include "forward/pass/lent_keys.h"

#include <fmt/format.h>

#include <utility>

#include "headscope/base/error.h"

namespace headscope {
namespace {

bool lends_keys(const HeadSizes& sizes, std::size_t layer) {
  for (std::size_t later = layer + 1; later < sizes.layers; ++later) {
    if (sizes.kv_layer(later) == layer) return true;
  }
  return false;
}

}  // namespace

void LentKeys::keep(const HeadSizes& sizes, std::size_t layer, LayerHeads heads) {
  if (lends_keys(sizes, layer)) by_layer_[layer] = std::move(heads);
}

void LentKeys::borrow(const HeadSizes& sizes, std::size_t layer, std::size_t begin, LayerHeads& heads) const {
  const auto found = by_layer_.find(sizes.kv_layer(layer));
  if (found == by_layer_.end()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a pass from layer {} lacks the keys of layer {}", begin, sizes.kv_layer(layer)));
  }
  heads.columns[1] = found->second.columns[1];
  heads.columns[2] = found->second.columns[2];
}

}  // namespace headscope
