#include "forward/grid_bias.h"

#include <algorithm>

#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

constexpr std::size_t kOfClassToken = 3;  // the last columns of the table

}  // namespace

GridBias::GridBias(const Model& model, const StoredTensor& table, PatchGrid grid)
    : grid_(grid), values_(table.shape[1], table.shape[0]) {
  const std::vector<float> stored = read_vector(model.checkpoint(), table);
  // The table has the query's place minus the key's. Turned around, the keys of a row of patches are in order.
  const std::size_t patches = values_.columns() - kOfClassToken;
  for (std::size_t i = 0; i < values_.columns(); ++i) {
    const std::size_t to = i < patches ? patches - 1 - i : i;
    for (std::size_t head = 0; head < values_.rows(); ++head) values_(head, to) = stored[i * values_.rows() + head];
  }
}

void GridBias::add(std::size_t head, std::size_t query, std::size_t first_key, std::span<float> scores) const {
  const std::span<const float> values = values_.row(head);
  const std::span<const float> of_class = values.last(kOfClassToken);  // as query, as key, both
  if (query == 0) {
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] += of_class[first_key + j == 0 ? 2 : 0];
    return;
  }
  std::size_t j = 0;
  if (first_key == 0) scores[j++] += of_class[1];
  const std::size_t row = (query - 1) / grid_.width;
  const std::size_t column = (query - 1) % grid_.width;
  while (j < scores.size()) {
    const std::size_t key = first_key + j - 1;
    const std::size_t key_column = key % grid_.width;
    const std::size_t count = std::min(grid_.width - key_column, scores.size() - j);
    const std::size_t rows = key / grid_.width + grid_.height - 1 - row;
    const float* bias = &values[rows * (2 * grid_.width - 1) + key_column + grid_.width - 1 - column];
    for (std::size_t i = 0; i < count; ++i) scores[j + i] += bias[i];
    j += count;
  }
}

}  // namespace headscope
