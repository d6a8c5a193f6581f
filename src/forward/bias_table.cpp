#include "forward/bias_table.h"

#include <algorithm>
#include <cmath>

#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// The bucket of a key `distance` tokens after its query (before it, if negative): one for each small distance, then
// logarithmic ones up to `max_distance` (arXiv 1910.10683). Keys after the query have the upper half of the buckets, if
// queries see them.
std::size_t bucket_of(std::ptrdiff_t distance, std::size_t buckets, std::size_t max_distance, bool causal) {
  std::size_t first = 0;
  if (!causal) {
    buckets /= 2;
    if (distance > 0) first = buckets;
  }
  const std::size_t far = causal ? static_cast<std::size_t>(std::max<std::ptrdiff_t>(-distance, 0))
                                 : static_cast<std::size_t>(std::abs(distance));
  const std::size_t exact = buckets / 2;
  if (far < exact) return first + far;
  const auto small = static_cast<float>(exact);
  // In float, like PyTorch: a distance at the border of two buckets must fall to the same side.
  const float share = std::log(static_cast<float>(far) / small) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const auto above = static_cast<std::size_t>(share * static_cast<float>(buckets - exact));
  return first + std::min(exact + above, buckets - 1);
}

}  // namespace

BiasTable::BiasTable(const Model& model, const ScoreBias& bias, bool causal, std::size_t tokens)
    : tokens_(tokens), values_(model.info().sizes.heads, 2 * tokens - 1) {
  std::vector<float> table;
  if (bias.table != nullptr) table = read_vector(model.checkpoint(), *bias.table);
  const std::size_t buckets = bias.table != nullptr ? bias.table->shape[0] : 0;
  for (std::size_t i = 0; i < values_.columns(); ++i) {
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(tokens - 1);
    const std::size_t bucket = table.empty() ? 0 : bucket_of(distance, buckets, bias.max_distance, causal);
    for (std::size_t head = 0; head < values_.rows(); ++head) {
      values_(head, i) = table.empty() ? -bias.slopes[head] * static_cast<float>(std::abs(distance))
                                       : table[bucket * values_.rows() + head];
    }
  }
}

std::span<const float> BiasTable::row(std::size_t head, std::size_t query) const {
  return values_.row(head).subspan(tokens_ - 1 - query, tokens_);
}

}  // namespace headscope
