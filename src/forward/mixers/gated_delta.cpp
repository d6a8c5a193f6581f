#include "forward/mixers/gated_delta.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "forward/mixers/causal_kernel.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/base/logistic.h"
#include "headscope/base/parallel.h"
#include "headscope/forward/row_kernels.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// What the gated delta rule reads of each token, whatever the order in the file.
struct DeltaInputs {
  Matrix mixed;  // [queries | keys | values] of all heads
  Matrix gate;   // of the output, by value head
  Matrix write;  // by value head: how much of a value is written ...
  Matrix decay;  // ... and how much of the memory is kept
};

DeltaInputs delta_inputs(const Checkpoint& checkpoint, const GatedDelta& mixer, MatrixView x, Buffer<float>& scratch) {
  if (mixer.in.size() == 4) {
    return {mapped(checkpoint, mixer.in[0], x, scratch), mapped(checkpoint, mixer.in[1], x, scratch),
            mapped(checkpoint, mixer.in[2], x, scratch), mapped(checkpoint, mixer.in[3], x, scratch)};
  }
  const Matrix all = mapped(checkpoint, mixer.in[0], x, scratch);
  const Matrix rates = mapped(checkpoint, mixer.in[1], x, scratch);
  const std::size_t keys = mixer.key_heads * mixer.d_key;
  const std::size_t share = mixer.value_heads / mixer.key_heads;
  const std::size_t values = share * mixer.d_value;  // of one key head
  DeltaInputs inputs{Matrix(x.rows(), 2 * keys + mixer.key_heads * values), Matrix(x.rows(), mixer.key_heads * values),
                     Matrix(x.rows(), mixer.value_heads), Matrix(x.rows(), mixer.value_heads)};
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    for (std::size_t head = 0; head < mixer.key_heads; ++head) {
      auto from = all.row(t).begin() + static_cast<std::ptrdiff_t>(head * 2 * (mixer.d_key + values));
      const auto take = [&](Matrix& to, std::size_t at, std::size_t count) {
        std::copy_n(from, count, to.row(t).begin() + static_cast<std::ptrdiff_t>(at));
        from += static_cast<std::ptrdiff_t>(count);
      };
      take(inputs.mixed, head * mixer.d_key, mixer.d_key);
      take(inputs.mixed, keys + head * mixer.d_key, mixer.d_key);
      take(inputs.mixed, 2 * keys + head * values, values);
      take(inputs.gate, head * values, values);
      from = rates.row(t).begin() + static_cast<std::ptrdiff_t>(head * 2 * share);
      take(inputs.write, head * share, share);
      take(inputs.decay, head * share, share);
    }
  });
  return inputs;
}

void normalize(std::span<float> x, float factor) {
  float squares = 0;
  for (const float value : x) squares += value * value;
  const float scale = factor / std::sqrt(squares + 1e-6F);
  for (float& value : x) value *= scale;
}

// The memory S of one value head, d_key x d_value: S <- decay S; S <- S + k (write (v - S^T k))^T; output S^T q.
void run_head(const GatedDelta& mixer, const DeltaInputs& inputs, const Matrix& mixed, std::size_t head, float rate,
              float step_bias, Matrix& out) {
  const std::size_t key = head / (mixer.value_heads / mixer.key_heads);
  const std::size_t keys = mixer.key_heads * mixer.d_key;
  Matrix memory(mixer.d_key, mixer.d_value);
  std::vector<float> change(mixer.d_value);
  for (std::size_t t = 0; t < mixed.rows(); ++t) {
    const std::span<const float> q = mixed.row(t).subspan(key * mixer.d_key, mixer.d_key);
    const std::span<const float> k = mixed.row(t).subspan(keys + key * mixer.d_key, mixer.d_key);
    const std::span<const float> v = mixed.row(t).subspan(2 * keys + head * mixer.d_value, mixer.d_value);
    const float kept = std::exp(-rate * softplus(inputs.decay(t, head) + step_bias));
    const float write = sigmoid(inputs.write(t, head));
    std::ranges::copy(v, change.begin());
    for (std::size_t i = 0; i < mixer.d_key; ++i) {
      for (std::size_t j = 0; j < mixer.d_value; ++j) {
        memory(i, j) *= kept;
        change[j] -= memory(i, j) * k[i];
      }
    }
    const std::span<float> row = out.row(t).subspan(head * mixer.d_value, mixer.d_value);
    std::ranges::fill(row, 0.0F);
    for (std::size_t i = 0; i < mixer.d_key; ++i) {
      for (std::size_t j = 0; j < mixer.d_value; ++j) {
        memory(i, j) += k[i] * write * change[j];
        row[j] += memory(i, j) * q[i];
      }
    }
  }
}

}  // namespace

void apply_gated_delta(const Checkpoint& checkpoint, const GatedDelta& mixer, MatrixView x, MatrixSpan out,
                       Buffer<float>& scratch) {
  const DeltaInputs inputs = delta_inputs(checkpoint, mixer, x, scratch);
  const CausalKernel kernel(checkpoint, *mixer.kernel, nullptr);
  const std::vector<float> decay = read_vector(checkpoint, *mixer.decay);
  const std::vector<float> step_bias = read_vector(checkpoint, *mixer.step_bias);
  const std::size_t keys = mixer.key_heads * mixer.d_key;
  Matrix mixed(x.rows(), inputs.mixed.columns());
  const float query_scale = 1 / std::sqrt(static_cast<float>(mixer.d_key));
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    const std::span<float> row = mixed.row(t);
    kernel.apply(inputs.mixed, t, row);
    activate(Activation::kSilu, row);
    for (std::size_t head = 0; head < mixer.key_heads; ++head) {
      normalize(row.subspan(head * mixer.d_key, mixer.d_key), query_scale);
      normalize(row.subspan(keys + head * mixer.d_key, mixer.d_key), 1);
    }
  });
  Matrix heads(x.rows(), mixer.value_heads * mixer.d_value);
  parallel_for(mixer.value_heads, [&](std::size_t head) {
    run_head(mixer, inputs, mixed, head, std::exp(decay[head]), step_bias[head], heads);
  });
  const Norm norm(checkpoint, mixer.norm);
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    for (std::size_t head = 0; head < mixer.value_heads; ++head) {
      const std::span<float> row = heads.row(t).subspan(head * mixer.d_value, mixer.d_value);
      norm.apply_row(row, row);
    }
    activate_gate(Activation::kSilu, inputs.gate.row(t), heads.row(t));
  });
  apply_linear(checkpoint, mixer.out, heads.view(), out, scratch);
}

}  // namespace headscope
