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

void add_token_input(const Checkpoint& checkpoint, const TokenInput& layer, Activation activation, MatrixView inputs,
                     MatrixSpan stream, Buffer<float>& scratch) {
  Matrix gate(stream.rows(), layer.gate.out());
  apply_linear(checkpoint, layer.gate, stream.view(), gate.span(), scratch);
  parallel_for_rows(stream.rows(), [&](std::size_t t) {
    const std::span<float> row = gate.row(t);
    activate(activation, row);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] *= inputs(t, j);
  });
  Matrix out(stream.rows(), stream.columns());
  apply_linear(checkpoint, layer.out, gate.view(), out.span(), scratch);
  const Norm norm(checkpoint, layer.norm);
  parallel_for_rows(stream.rows(), [&](std::size_t t) {
    norm.apply_row(out.row(t), out.row(t));
    add_scaled(out.row(t), {}, stream.row(t));
  });
}

}  // namespace headscope
