#include "forward/grid_bias.h"

#include "headscope/model/read_weights.h"

namespace headscope {

GridBias::GridBias(const Model& model, const StoredTensor& table, PatchGrid grid)
    : grid_(grid), values_(table.shape[1], table.shape[0]) {
  const std::vector<float> stored = read_vector(model.checkpoint(), table);
  for (std::size_t row = 0; row < values_.columns(); ++row) {
    for (std::size_t head = 0; head < values_.rows(); ++head) {
      values_(head, row) = stored[row * values_.rows() + head];
    }
  }
}

void GridBias::add(std::size_t head, std::size_t query, std::size_t first_key, std::span<float> scores) const {
  const std::span<const float> values = values_.row(head);
  const std::size_t patches = values.size() - 3;  // the three of the class token follow: as query, as key, both
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const std::size_t key = first_key + j;
    if (query == 0 || key == 0) {
      scores[j] += values[query != 0 ? patches + 1 : key != 0 ? patches : patches + 2];
      continue;
    }
    const std::size_t rows = (query - 1) / grid_.width + grid_.height - 1 - (key - 1) / grid_.width;
    const std::size_t columns = (query - 1) % grid_.width + grid_.width - 1 - (key - 1) % grid_.width;
    scores[j] += values[rows * (2 * grid_.width - 1) + columns];
  }
}

}  // namespace headscope
