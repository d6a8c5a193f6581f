#include "headscope/organize/row_permutation.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/random.h"

namespace headscope {
namespace {

constexpr std::size_t kWindow = 8;

bool is_present(std::span<const std::uint8_t> mask, std::size_t i) {
  return mask.empty() || mask[i] != 0;
}

// The keys by the head's mean attention to them, ascending; ties by index.
std::vector<std::size_t> keys_by_attention(const NetworkTensor& tensor, std::size_t head) {
  const auto map = tensor.map(head);
  const auto mask = tensor.mask(head);
  std::vector<double> sums(tensor.keys(), 0);
  std::vector<double> counts(tensor.keys(), 0);
  for (std::size_t begin = 0; begin < map.size(); begin += tensor.keys()) {
    double sum = 0;
    double count = 0;
    for (std::size_t k = 0; k < tensor.keys(); ++k) {
      if (!is_present(mask, begin + k)) continue;
      sum += static_cast<double>(map[begin + k]);
      ++count;
    }
    const double scale = tensor.kind == MapKind::kPattern ? count : 1;
    for (std::size_t k = 0; k < tensor.keys(); ++k) {
      if (!is_present(mask, begin + k)) continue;
      sums[k] += (static_cast<double>(map[begin + k]) - sum / count) * scale;
      ++counts[k];
    }
  }
  std::vector<std::size_t> order(tensor.keys());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = 0; k < order.size(); ++k) sums[k] /= std::max(counts[k], 1.0);
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return sums[k]; });
  return order;
}

// Shuffles the entries of a row at some of its keys.
void shuffle(std::span<float> row, std::span<const std::size_t> keys, Random& random) {
  for (std::size_t i = keys.size(); i > 1; --i) std::swap(row[keys[i - 1]], row[keys[random.index(i)]]);
}

void permute_row(std::span<float> row, std::span<const std::size_t> keys, RowPermutation kind, Random& random) {
  if (kind == RowPermutation::kRows) {
    shuffle(row, keys, random);
    return;
  }
  std::size_t end = std::min(keys.size(), 1 + random.index(kWindow));
  for (std::size_t begin = 0; begin < keys.size(); begin = std::exchange(end, std::min(keys.size(), end + kWindow))) {
    shuffle(row, keys.subspan(begin, end - begin), random);
  }
}

}  // namespace

NetworkTensor permute_rows(const TensorShare& tensor, RowPermutation kind, std::uint64_t seed, std::size_t draw) {
  const NetworkTensor& own = tensor.own();
  NetworkTensor result;
  result.extents = own.extents;
  result.present = own.present;
  result.mask_per_head = own.mask_per_head;
  result.kind = own.kind;
  result.head_names = own.head_names;
  result.query_positions = own.query_positions;
  result.key_positions = own.key_positions;
  result.values = Buffer<float>(own.values.size());
  std::ranges::copy(own.values.values(), result.values.data());
  const std::size_t first = tensor.own_heads().begin;
  parallel_for(own.heads(), [&](std::size_t h) {
    const auto mask = own.mask(h);
    std::vector<std::size_t> order(own.keys());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (kind == RowPermutation::kKeys) order = keys_by_attention(own, h);
    std::vector<std::size_t> keys;
    for (std::size_t q = 0; q < own.queries(); ++q) {
      const std::size_t begin = h * own.map_size() + q * own.keys();
      keys.clear();
      std::ranges::copy_if(order, std::back_inserter(keys),
                           [&](std::size_t k) { return is_present(mask, q * own.keys() + k); });
      Random random(seed, {static_cast<std::uint64_t>(kind), draw, first + h, q});
      permute_row(result.values.values().subspan(begin, own.keys()), keys, kind, random);
    }
  });
  return result;
}

}  // namespace headscope
