#include "forward/pass/mlp_branch.h"

#include <algorithm>

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

// The neurons' activations, for all rows of x: the last columns of the result.
Matrix run_neurons(Pass& pass, const NetworkLayer& layer, MatrixView x) {
  const Network& network = pass.network;
  const std::size_t neurons = layer.down.in();
  Matrix up(x.rows(), layer.up.out());
  apply_linear(pass.checkpoint, layer.up, x, up.span(), pass.scratch);
  Matrix gate(layer.gate ? x.rows() : 0, layer.gate ? neurons : 0);
  if (layer.gate) apply_linear(pass.checkpoint, *layer.gate, x, gate.span(), pass.scratch);
  parallel_for_rows(x.rows(), [&](std::size_t i) {
    const std::span<float> row = up.row(i);
    if (layer.gate) {
      activate_gate(network.activation, gate.row(i), row);
    } else if (layer.gate_in_up) {
      activate_gate(gate_activation(network), row.first(neurons), row.subspan(neurons));
    } else {
      activate(network.activation, row);
    }
  });
  return up;
}

}  // namespace

void run_mlp(Pass& pass, const NetworkLayer& layer, MatrixView x, MatrixSpan out) {
  const auto poll = [&] { pass.progress.report(kAttended); };
  if (layer.experts) {
    const ExpertRun run{.activation = pass.network.activation, .release = pass.releases_pages, .poll = poll};
    run_experts(pass.checkpoint, *layer.experts, run, x, out, pass.scratch);
    return;
  }
  const std::size_t neurons = layer.down.in();
  for (std::size_t first = 0; first < x.rows(); first += kMlpRows) {
    const std::size_t count = std::min(kMlpRows, x.rows() - first);
    const Matrix up = run_neurons(pass, layer, x.block(first, count, 0, x.columns()));
    const MatrixView hidden = up.view().block(0, count, up.columns() - neurons, neurons);
    apply_linear(pass.checkpoint, layer.down, hidden, out.block(first, count, 0, out.columns()), pass.scratch);
    poll();
  }
}

}  // namespace headscope
