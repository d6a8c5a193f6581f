#include "forward/mixers/state_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
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

Matrix columns_of(const Matrix& x, std::size_t first, std::size_t count) {
  Matrix part(x.rows(), count);
  for (std::size_t t = 0; t < x.rows(); ++t) std::ranges::copy(x.row(t).subspan(first, count), part.row(t).begin());
  return part;
}

// By channel or head: the rates of decay. config.json's models have their logarithms, GGUF has them negated.
std::vector<float> rates_of_decay(const Checkpoint& checkpoint, const StoredTensor& decay) {
  std::vector<float> rates = read_vector(checkpoint, decay);
  for (float& rate : rates) rate = checkpoint.is_gguf() ? -rate : std::exp(rate);
  return rates;
}

// What the convolution makes of x, activated.
Matrix convolved(const CausalKernel& kernel, const Matrix& x) {
  Matrix result(x.rows(), x.columns());
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    kernel.apply(x, t, result.row(t));
    activate(Activation::kSilu, result.row(t));
  });
  return result;
}

// The maps of each token that one channel, or one head, writes to and reads from its states with.
struct StateMaps {
  const Matrix& source;
  std::size_t write;  // first column of B
  std::size_t read;   // first column of C
};

// One token: `state` decays, takes in value * B, and is read with C.
float advance(std::span<float> state, std::span<const float> kept, float value, const StateMaps& maps, std::size_t t) {
  const std::span<const float> row = maps.source.row(t);
  float sum = 0;
  for (std::size_t n = 0; n < state.size(); ++n) {
    state[n] = kept[n] * state[n] + value * row[maps.write + n];
    sum += state[n] * row[maps.read + n];
  }
  return sum;
}

// Multiplies the parts of each row, of these widths.
void multiply_parts(Matrix& x, const std::array<std::size_t, 5>& widths, const std::array<float, 5>& factors) {
  if (std::ranges::all_of(factors, [](float factor) { return factor == 1; })) return;
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    auto value = x.row(t).begin();
    for (std::size_t p = 0; p < widths.size(); ++p) {
      for (std::size_t j = 0; j < widths[p]; ++j) *value++ *= factors[p];
    }
  });
}

// Normalizes the parts of [step | B | C].
void normalize_parts(const Checkpoint& checkpoint, const SelectiveState& mixer, Matrix& selected) {
  const std::size_t states = mixer.decay->shape[1];
  const std::size_t rank = selected.columns() - 2 * states;
  const auto apply = [&](const std::optional<StoredNorm>& stored, std::size_t first, std::size_t count) {
    if (!stored) return;
    const Norm norm(checkpoint, *stored);
    for (std::size_t t = 0; t < selected.rows(); ++t) {
      const std::span<float> part = selected.row(t).subspan(first, count);
      norm.apply_row(part, part);
    }
  };
  apply(mixer.step_norm, 0, rank);
  apply(mixer.write_norm, rank, states);
  apply(mixer.read_norm, rank + states, states);
}

}  // namespace

void apply_selective_state(const Checkpoint& checkpoint, const SelectiveState& mixer, MatrixView x, MatrixSpan out,
                           Buffer<float>& scratch) {
  const Matrix both = mapped(checkpoint, mixer.in, x, scratch);
  const std::size_t width = both.columns() / 2;
  const std::size_t states = mixer.decay->shape[1];
  const CausalKernel kernel(checkpoint, *mixer.kernel, mixer.bias);
  Matrix channels = convolved(kernel, columns_of(both, 0, width));
  Matrix selected = mapped(checkpoint, mixer.select, channels.view(), scratch);
  normalize_parts(checkpoint, mixer, selected);
  const std::size_t rank = selected.columns() - 2 * states;
  const Matrix steps = mapped(checkpoint, mixer.step, columns_of(selected, 0, rank).view(), scratch);
  const std::vector<float> rates = rates_of_decay(checkpoint, *mixer.decay);
  const std::vector<float> skip = read_vector(checkpoint, *mixer.skip);
  const StateMaps maps{selected, rank, rank + states};
  parallel_for_rows(width, [&](std::size_t c) {
    std::vector<float> state(states);
    std::vector<float> kept(states);
    for (std::size_t t = 0; t < channels.rows(); ++t) {
      const float step = softplus(steps(t, c));
      for (std::size_t n = 0; n < states; ++n) kept[n] = std::exp(-rates[c * states + n] * step);
      const float own = channels(t, c);
      const float gate = both(t, width + c);
      channels(t, c) = (advance(state, kept, step * own, maps, t) + skip[c] * own) * gate * sigmoid(gate);
    }
  });
  apply_linear(checkpoint, mixer.out, channels.view(), out, scratch);
}

void apply_grouped_state(const Checkpoint& checkpoint, const GroupedState& mixer, MatrixView x, MatrixSpan out,
                         Buffer<float>& scratch) {
  Matrix all = mapped(checkpoint, mixer.in, x, scratch);
  const std::size_t width = mixer.out.in();
  const std::size_t shared = mixer.groups * mixer.states;  // columns of B, and of C
  multiply_parts(all, {width, width, shared, shared, mixer.heads}, mixer.in_factors);
  const CausalKernel kernel(checkpoint, *mixer.kernel, mixer.bias);
  Matrix mixed = convolved(kernel, columns_of(all, width, width + 2 * shared));
  const std::vector<float> rates = rates_of_decay(checkpoint, *mixer.decay);
  const std::vector<float> skip = read_vector(checkpoint, *mixer.skip);
  const std::vector<float> step_bias = read_vector(checkpoint, *mixer.step_bias);
  const std::size_t d_head = width / mixer.heads;
  Matrix heads(x.rows(), width);
  parallel_for(mixer.heads, [&](std::size_t head) {
    const std::size_t group = head / (mixer.heads / mixer.groups);
    const StateMaps maps{mixed, width + group * mixer.states, width + shared + group * mixer.states};
    Matrix states(d_head, mixer.states);
    std::vector<float> kept(mixer.states);
    for (std::size_t t = 0; t < x.rows(); ++t) {
      const float raw = all(t, 2 * width + 2 * shared + head) + step_bias[head];
      const float step = std::max(softplus(raw), mixer.min_step);
      std::ranges::fill(kept, std::exp(-rates[head] * step));
      for (std::size_t j = 0; j < d_head; ++j) {
        const std::size_t c = head * d_head + j;
        const float own = mixed(t, c);
        heads(t, c) = advance(states.row(j), kept, step * own, maps, t) + skip[head] * own;
      }
    }
  });
  const std::optional<Norm> norm = load_norm(checkpoint, mixer.norm);
  const std::size_t part = width / mixer.norm_groups;
  parallel_for_rows(x.rows(), [&](std::size_t t) {
    if (!mixer.norm_first) activate_gate(Activation::kSilu, all.row(t).first(width), heads.row(t));
    for (std::size_t g = 0; norm && g < mixer.norm_groups; ++g) {
      norm->apply_head(g, heads.row(t).subspan(g * part, part));
    }
    if (mixer.norm_first) activate_gate(Activation::kSilu, all.row(t).first(width), heads.row(t));
    for (float& value : heads.row(t)) value *= mixer.out_factor;
  });
  apply_linear(checkpoint, mixer.out, heads.view(), out, scratch);
}

std::size_t grouped_state_width(const GroupedState& mixer) {
  return 3 * mixer.in.out() + mixer.out.in();
}

}  // namespace headscope
