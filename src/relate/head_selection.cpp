#include "relate/head_selection.h"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

std::vector<std::size_t> checked(const std::vector<std::size_t>& chosen, std::size_t count, std::string_view what) {
  if (chosen.empty()) {
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  const std::set<std::size_t> sorted(chosen.begin(), chosen.end());
  if (*sorted.rbegin() >= count) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} {} asked for, the model has {}, numbered from 0", what, *sorted.rbegin(), count));
  }
  return {sorted.begin(), sorted.end()};
}

}  // namespace

HeadSelection::HeadSelection(const HeadSizes& sizes, const std::vector<std::size_t>& layers,
                             const std::vector<std::size_t>& heads)
    : layers_(checked(layers, sizes.layers, "layer")), query_heads_(checked(heads, sizes.heads, "head")) {
  std::set<std::size_t> used;
  for (const std::size_t head : query_heads_) used.insert(head / (sizes.heads / sizes.kv_heads));
  kv_heads_.assign(used.begin(), used.end());
}

}  // namespace headscope
