#include "forward/pass/project_heads.h"

#include <utility>

#include "forward/latent.h"
#include "forward/memory_plan.h"
#include "forward/weights.h"

namespace headscope {
namespace {

// A fused projection is computed once.
LayerHeads project_linear(Pass& pass, const Stack& stack, const NetworkLayer& layer) {
  LayerHeads heads;
  for (const StoredLinear* linear : projections(layer)) {
    const bool reads_encoder = layer.block == Block::kCross && linear != &layer.linear[0];
    const Matrix& source = reads_encoder ? stack.memory.stream : stack.read;
    Matrix& result = heads.held.emplace_back(source.rows(), linear->out());
    apply_linear(pass.checkpoint, *linear, source.view(), result.span(), pass.scratch);
    for (std::size_t r = 0; r < 3; ++r) {
      if (layer.linear[r].weight != linear->weight) continue;
      heads.columns[r] = {result.values().data(), result.columns(), layer.slices[r]};
    }
    pass.progress.report(kProjected);
  }
  return heads;
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
  if (layer.own_keys) {
    separate_values(heads);
  } else {
    stack.lent_keys.borrow(pass.sizes, index, pass.options.begin_layer, heads);
  }
  return heads;
}

}  // namespace headscope
