#include "forward/pass/mlp_branch.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "forward/experts.h"
#include "forward/memory_plan.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/forward/row_kernels.h"

namespace headscope {
namespace {

// DINOv2's gated MLP is SwiGLU, whatever activation its configuration names for the plain MLP.
Activation gate_activation(const Network& network) {
  return network.input.embedding == nullptr ? Activation::kSilu : network.activation;
}

// max(x - mean - deviations * standard deviation, 0), in place.
void cut_off(float deviations, std::span<float> x) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  for (const float value : x) mean += static_cast<double>(value) / count;
  double variance = 0;
  for (const float value : x) variance += std::pow(static_cast<double>(value) - mean, 2) / count;
  const auto least = static_cast<float>(mean + static_cast<double>(deviations) * std::sqrt(variance));
  for (float& value : x) value = std::max(value - least, 0.0F);
}

float xielu(const Xielu& weights, float x) {
  if (x > 0) return (weights.positive * x + weights.slope) * x;
  return (std::expm1(std::min(x, weights.limit)) - x) * weights.negative + weights.slope * x;
}

// The neurons' activations, for all rows of x.
MatrixView run_neurons(Pass& pass, const NetworkLayer& layer, MatrixView x) {
  const Network& network = pass.network;
  const std::size_t neurons = layer.down.in();
  const MatrixSpan up = pass.up.sized(x.rows(), layer.up.out());
  apply_linear(pass.checkpoint, layer.up, x, up, pass.scratch);
  const MatrixSpan gate = pass.gate.sized(layer.gate ? x.rows() : 0, neurons);
  if (layer.gate) apply_linear(pass.checkpoint, *layer.gate, x, gate, pass.scratch);
  parallel_for_rows(x.rows(), [&](std::size_t i) {
    const std::span<float> row = up.row(i);
    if (layer.gate && layer.gate_factor != 1) {
      for (float& value : gate.row(i)) value *= layer.gate_factor;
    }
    if (layer.gate && layer.gate_cutoff) cut_off(*layer.gate_cutoff, gate.row(i));
    if (layer.xielu) {
      for (float& value : row) value = xielu(*layer.xielu, value);
    } else if (layer.gate) {
      activate_gate(network.activation, gate.row(i), row);
    } else if (layer.gate_in_up) {
      activate_gate(gate_activation(network), row.first(neurons), row.subspan(neurons));
    } else {
      activate(network.activation, row);
    }
  });
  return up.view().block(0, up.rows(), up.columns() - neurons, neurons);
}

}  // namespace

void run_mlp(Pass& pass, const NetworkLayer& layer, MatrixView x, MatrixSpan out) {
  const auto poll = [&] { pass.progress.report(kAttended); };
  if (layer.experts) {
    const ExpertRun run{.activation = pass.network.activation, .release = pass.releases_pages, .poll = poll};
    run_experts(pass.checkpoint, *layer.experts, run, x, out, pass.scratch);
    return;
  }
  for (std::size_t first = 0; first < x.rows(); first += kMlpRows) {
    const std::size_t count = std::min(kMlpRows, x.rows() - first);
    const MatrixView hidden = run_neurons(pass, layer, x.block(first, count, 0, x.columns()));
    apply_linear(pass.checkpoint, layer.down, hidden, out.block(first, count, 0, out.columns()), pass.scratch);
    poll();
  }
}

}  // namespace headscope
