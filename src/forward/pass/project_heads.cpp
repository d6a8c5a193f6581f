#include "forward/pass/project_heads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "forward/latent.h"
#include "forward/memory_plan.h"
#include "forward/parallel_rows.h"
#include "forward/weights.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// Gives copies of an input rows of their own, since what one of them reads may be changed.
Matrix rows_of_members(const EncoderOutput& memory, const Matrix& shared) {
  const Member& last = memory.members.back();
  Matrix rows(last.first + last.tokens, shared.columns());
  for (std::size_t k = 0; k < memory.members.size(); ++k) {
    const Member& member = memory.members[k];
    const std::size_t count = member.tokens * shared.columns();
    std::ranges::copy(shared.values().subspan(memory.shared[k] * shared.columns(), count),
                      rows.row(member.first).begin());
  }
  return rows;
}

// A fused projection is computed once.
LayerHeads project_linear(Pass& pass, const Stack& stack, const NetworkLayer& layer) {
  LayerHeads heads;
  for (const StoredLinear* linear : projections(layer)) {
    const bool reads_encoder = layer.block == Block::kCross && linear != &layer.linear[0];
    const Matrix& source = reads_encoder ? stack.memory.stream : stack.read;
    Matrix& result = heads.held.emplace_back(source.rows(), linear->out());
    apply_linear(pass.checkpoint, *linear, source.view(), result.span(), pass.scratch);
    if (reads_encoder && !stack.memory.shared.empty()) result = rows_of_members(stack.memory, result);
    for (std::size_t r = 0; r < 3; ++r) {
      if (layer.linear[r].weight != linear->weight) continue;
      heads.columns[r] = {result.values().data(), result.columns(), layer.slices[r]};
    }
    pass.progress.report(kProjected);
  }
  return heads;
}

// Adds biases that are not part of the projections.
void add_role_biases(const Pass& pass, std::size_t index, LayerHeads& heads, std::size_t rows) {
  const NetworkLayer& layer = pass.network.layers[index];
  for (std::size_t r = 0; r < 3; ++r) {
    if (layer.role_biases[r] == nullptr) continue;
    const std::vector<float> bias = read_vector(pass.checkpoint, *layer.role_biases[r]);
    const std::size_t width = pass.sizes.width(index, kRoles[r]);
    parallel_for_rows(rows, [&](std::size_t t) {
      for (std::size_t k = 0; k < bias.size(); ++k) heads.columns[r].at(t, k / width)[k % width] += bias[k];
    });
  }
}

// Gives values that are keys memory of their own, since keys are normalized and rotated in place.
void separate_values(LayerHeads& heads) {
  const HeadColumns& keys = heads.columns[1];
  HeadColumns& values = heads.columns[2];
  if (values.data != keys.data || values.slice.first != keys.slice.first) return;
  heads.held.reserve(heads.held.size() + 1);
  for (Matrix& matrix : heads.held) {
    if (matrix.values().data() != keys.data) continue;
    values.data = heads.held.emplace_back(matrix).values().data();
    return;
  }
}

}  // namespace

LayerHeads project_heads(Pass& pass, const Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  LayerHeads heads = layer.latent ? project_latent(pass.checkpoint, layer, pass.sizes, stack.read.view(), pass.scratch)
                                  : project_linear(pass, stack, layer);
  add_role_biases(pass, index, heads, stack.read.rows());
  if (layer.own_keys) {
    separate_values(heads);
  } else {
    stack.lent_keys.borrow(pass.sizes, index, pass.options.begin_layer, heads);
  }
  return heads;
}

}  // namespace headscope
