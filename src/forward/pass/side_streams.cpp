#include "forward/pass/side_streams.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "forward/parallel_rows.h"
#include "forward/weights.h"

namespace headscope {
namespace {

float mean_square(std::span<const float> x) {
  float sum = 0;
  for (const float value : x) sum += value * value;
  return sum / static_cast<float>(x.size());
}

// Maps x, and gives each row of the result the magnitude of the row of the main stream.
Matrix map_keeping_magnitude(Pass& pass, const Stack& stack, const StoredLinear& linear, const Matrix& x) {
  constexpr float kLeast = 1e-5F;
  Matrix result(x.rows(), x.columns());
  apply_linear(pass.checkpoint, linear, x.view(), result.span(), pass.scratch);
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    const std::span<float> row = result.row(t);
    const float factor = std::sqrt(mean_square(stack.stream.row(t)) / std::max(mean_square(row), kLeast));
    for (float& value : row) value *= factor;
  });
  return result;
}

// tanh(router(norm(x) / d_model)) of the main stream, mapped to coefficients.
Matrix coefficients(Pass& pass, const Stack& stack, const StreamUpdate& update, const StoredLinear& map) {
  Matrix read(stack.stream.rows(), stack.stream.columns());
  Norm(pass.checkpoint, update.router_norm).apply(stack.stream.view(), read.span());
  const float factor = 1 / static_cast<float>(read.columns());
  for (float& value : read.values()) value *= factor;
  Matrix routed(read.rows(), update.router.out());
  apply_linear(pass.checkpoint, update.router, read.view(), routed.span(), pass.scratch);
  for (float& value : routed.values()) value = std::tanh(value);
  Matrix result(read.rows(), map.out());
  apply_linear(pass.checkpoint, map, routed.view(), result.span(), pass.scratch);
  return result;
}

void report_mixing(const Pass& pass, const Stack& stack, std::size_t layer, bool corrects, const Matrix& factors) {
  if (!pass.options.on_mixing) return;
  for (const Member& member : stack.members) {
    pass.options.on_mixing(
        {member.input, layer, corrects, factors.view().block(member.first, member.tokens, 0, factors.columns())});
  }
}

}  // namespace

void begin_side_streams(Pass& pass, Stack& stack) {
  if (pass.options.start) {
    if (!pass.network.side_streams.in.empty() && !pass.options.start_side) {
      throw Error(ErrorKind::kInvalidArgument, "a pass of a model with several streams has a start for only one");
    }
    for (std::size_t s = 0; s < pass.network.side_streams.in.size(); ++s) {
      Matrix& side = stack.side_streams.emplace_back(stack.stream.rows(), stack.stream.columns());
      for (const Member& member : stack.members) pass.options.start_side(member.input, s, Stack::rows(side, member));
    }
    return;
  }
  for (const StoredLinear& linear : pass.network.side_streams.in) {
    stack.side_streams.push_back(map_keeping_magnitude(pass, stack, linear, stack.stream));
  }
}

void predict_streams(Pass& pass, Stack& stack, std::size_t layer, const StreamUpdate& update) {
  if (pass.options.start && layer == pass.options.begin_layer) {
    stack.predicted = stack.stream;  // the streams that are given are mixed
    return;
  }
  const Matrix factors = coefficients(pass, stack, update, update.prediction);
  report_mixing(pass, stack, layer, /*corrects=*/false, factors);
  const std::size_t count = 1 + stack.side_streams.size();
  parallel_for_rows(stack.stream.rows(), [&](std::size_t t) {
    std::vector<std::span<float>> rows = {stack.stream.row(t)};
    for (Matrix& side : stack.side_streams) rows.push_back(side.row(t));
    std::vector<float> before(count);
    for (std::size_t j = 0; j < rows[0].size(); ++j) {
      for (std::size_t s = 0; s < count; ++s) before[s] = rows[s][j];
      for (std::size_t to = 0; to < count; ++to) {
        for (std::size_t from = 0; from < count; ++from) rows[to][j] += factors(t, to * count + from) * before[from];
      }
    }
  });
  stack.predicted = stack.stream;
}

void correct_streams(Pass& pass, Stack& stack, std::size_t layer, const StreamUpdate& update) {
  const Matrix factors = coefficients(pass, stack, update, update.correction);
  report_mixing(pass, stack, layer, /*corrects=*/true, factors);
  parallel_for_rows(stack.stream.rows(), [&](std::size_t t) {
    const std::span<float> main = stack.stream.row(t);
    for (std::size_t j = 0; j < main.size(); ++j) {
      const float predicted = stack.predicted(t, j);
      const float change = main[j] - predicted;
      main[j] = predicted + (1 + factors(t, 0)) * change;
      for (std::size_t s = 0; s < stack.side_streams.size(); ++s) {
        stack.side_streams[s](t, j) += (1 + factors(t, s + 1)) * change;
      }
    }
  });
}

void merge_side_streams(Pass& pass, Stack& stack) {
  const std::vector<StoredLinear>& maps = pass.network.side_streams.out;
  if (maps.empty()) return;
  Matrix sum = stack.stream;
  for (std::size_t s = 0; s < maps.size(); ++s) {
    const Matrix mapped = map_keeping_magnitude(pass, stack, maps[s], stack.side_streams[s]);
    std::ranges::transform(sum.values(), mapped.values(), sum.values().begin(), std::plus<>());
  }
  for (float& value : sum.values()) value /= static_cast<float>(maps.size() + 1);
  stack.stream = std::move(sum);
}

}  // namespace headscope
