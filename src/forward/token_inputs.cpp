#include "forward/token_inputs.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/base/error.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/model/read_weights.h"

namespace headscope {

Matrix token_inputs(const Model& model, const NetworkInput& in, std::span<const std::uint32_t> ids, MatrixView embedded,
                    Buffer<float>& scratch) {
  const std::size_t all = in.token_inputs->shape[1];
  const std::size_t width = all / model.info().sizes.layers;
  for (const std::uint32_t id : ids) {
    if (id < in.token_inputs->shape[0]) continue;
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: token {} has no row in '{}', which has {}", model.checkpoint().path().string(), id,
                            printable(in.token_inputs->name), in.token_inputs->shape[0]));
  }
  Matrix result(ids.size(), all);
  apply_linear(model.checkpoint(), *in.token_projection, embedded, result.span(), scratch);
  const auto norm = load_norm(model.checkpoint(), in.token_norm);
  const float projected = 1 / std::sqrt(static_cast<float>(embedded.columns()));
  const float looked_up = std::sqrt(static_cast<float>(width));
  parallel_for_rows(ids.size(), [&](std::size_t t) {
    const std::span<float> row = result.row(t);
    std::vector<float> own(all);
    read_part(*in.token_inputs, ids[t] * all, own);
    for (float& value : row) value *= projected;
    for (std::size_t first = 0; first < all; first += width) {
      const std::span<float> part = row.subspan(first, width);
      norm->apply_row(part, part);
    }
    for (std::size_t j = 0; j < all; ++j) row[j] = (row[j] + own[j] * looked_up) / std::numbers::sqrt2_v<float>;
  });
  return result;
}

Matrix token_addend(const Checkpoint& checkpoint, const TokenInput& layer, Activation activation, MatrixView inputs,
                    MatrixView read, Buffer<float>& scratch) {
  Matrix gate(read.rows(), layer.gate.out());
  apply_linear(checkpoint, layer.gate, read, gate.span(), scratch);
  parallel_for_rows(read.rows(), [&](std::size_t t) {
    const std::span<float> row = gate.row(t);
    activate(activation, row);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] *= inputs(t, j);
  });
  Matrix out(read.rows(), read.columns());
  apply_linear(checkpoint, layer.out, gate.view(), out.span(), scratch);
  Norm(checkpoint, layer.norm).apply(out.view(), out.span());
  return out;
}

}  // namespace headscope
