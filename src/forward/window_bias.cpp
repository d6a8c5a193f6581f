#include "forward/window_bias.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "forward/weights.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Swin v2 (arXiv 2111.09883): an MLP of the two distances, each sign(x) log2(1 + |x|) / log2 8, where x is 8 at the
// distance of a trained window's ends. Returns one row per distance.
Matrix continuous_bias(const Model& model, const StoredWindowBias& stored, std::size_t side) {
  const auto reach = static_cast<double>(std::max<std::size_t>(stored.trained_side, 2) - 1);
  const std::size_t width = 2 * side - 1;
  const auto coordinate = [&](std::size_t place) {
    const double x = 8 * (static_cast<double>(place) - static_cast<double>(side - 1)) / reach;
    return static_cast<float>(std::copysign(std::log2(1 + std::abs(x)), x) / 3);
  };
  Matrix distances(width * width, 2);
  for (std::size_t i = 0; i < distances.rows(); ++i) {
    distances(i, 0) = coordinate(i / width);
    distances(i, 1) = coordinate(i % width);
  }
  Buffer<float> scratch;
  Matrix hidden(distances.rows(), stored.inner->out());
  apply_linear(model.checkpoint(), *stored.inner, distances.view(), hidden.span(), scratch);
  for (float& value : hidden.values()) value = std::max(value, 0.0F);
  Matrix bias(distances.rows(), stored.outer->out());
  apply_linear(model.checkpoint(), *stored.outer, hidden.view(), bias.span(), scratch);
  for (float& value : bias.values()) value = 16 / (1 + std::exp(-value));
  return bias;
}

Matrix by_head(std::span<const float> rows, std::size_t heads) {
  Matrix values(heads, rows.size() / heads);
  for (std::size_t i = 0; i < rows.size(); ++i) values(i % heads, i / heads) = rows[i];
  return values;
}

}  // namespace

WindowBias::WindowBias(const Model& model, const StoredWindowBias& stored, std::size_t side) : side_(side) {
  values_ = stored.table != nullptr ? by_head(read_vector(model.checkpoint(), *stored.table), stored.table->shape[1])
                                    : by_head(continuous_bias(model, stored, side).values(), stored.outer->out());
}

}  // namespace headscope
