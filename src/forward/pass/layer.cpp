#include "forward/pass/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "forward/memory_plan.h"
#include "forward/mixer.h"
#include "forward/pass/attention_branch.h"
#include "forward/pass/mlp_branch.h"
#include "forward/pass/stream_changes.h"
#include "forward/token_inputs.h"
#include "forward/weights.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

void report_norm(const Pass& pass, const Stack& stack, std::size_t layer, bool after_mlp,
                 std::span<const float> factors) {
  if (factors.empty()) return;
  for (const Member& member : stack.members) {
    pass.options.on_norm({member.input, layer, after_mlp, factors.subspan(member.first, member.tokens)});
  }
}

void add_attention(const Pass& pass, Stack& stack, std::size_t index, Matrix& output) {
  const NetworkLayer& layer = pass.network.layers[index];
  const Branch branch{layer.attention_scale, load_norm(pass.checkpoint, layer.norm_after_attention)};
  report_norm(pass, stack, index, /*after_mlp=*/false, add_branch(pass, branch, output, stack.stream));
}

void add_mlp(const Pass& pass, Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  const Branch branch{layer.mlp_scale, load_norm(pass.checkpoint, layer.norm_after_mlp)};
  report_norm(pass, stack, index, /*after_mlp=*/true, add_branch(pass, branch, stack.written, stack.stream));
}

// Computes what the MLP of a layer reads.
void read_for_mlp(const Pass& pass, Stack& stack, std::size_t index, const std::optional<Norm>& norm) {
  if (!pass.options.mlp_change || index != pass.options.begin_layer) {
    stack.read_stream(norm);
    return;
  }
  stack.read_stream(std::nullopt);
  add_changes(stack, pass.options.mlp_change, stack.read);
  if (norm) norm->apply(stack.read.view(), stack.read.span());
}

// Attention and MLP read the same stream, so both outputs are added at the end.
void run_parallel_branches(Pass& pass, Stack& stack, std::size_t index, const std::optional<Norm>& norm) {
  const NetworkLayer& layer = pass.network.layers[index];
  Matrix attended = std::move(stack.written);
  stack.written = Matrix(stack.stream.rows(), stack.stream.columns());
  if (layer.mlp_norm || pass.options.mlp_change) {
    read_for_mlp(pass, stack, index, layer.mlp_norm ? load_norm(pass.checkpoint, layer.mlp_norm) : norm);
  }
  run_mlp(pass, layer, stack.read.view(), stack.written.span());
  add_attention(pass, stack, index, attended);
}

// Adds what the layer makes of its tokens' inputs (Gemma 4).
void add_layer_input(Pass& pass, Stack& stack, std::size_t index) {
  const TokenInput& input = *pass.network.layers[index].token_input;
  const std::size_t width = input.gate.out();
  Matrix inputs(stack.stream.rows(), width);
  for (std::size_t k = 0; k < stack.members.size(); ++k) {
    const KeptRows& kept = stack.kept[k];
    for (std::size_t t = 0; t < kept.count; ++t) {
      const auto row = stack.layer_inputs.row(stack.members[k].first + kept.first + t).subspan(index * width, width);
      std::ranges::copy(row, inputs.row(kept.at + t).begin());
    }
  }
  add_token_input(pass.checkpoint, input, pass.network.activation, inputs.view(), stack.stream.span(), pass.scratch);
}

void scale_stream(const Checkpoint& checkpoint, const StoredTensor& scale, Matrix& stream) {
  const float factor = read_vector(checkpoint, scale).front();
  for (float& value : stream.values()) value *= factor;
}

void run_mixer(Pass& pass, Stack& stack, const MixerLayer& mixer) {
  stack.read_stream(load_norm(pass.checkpoint, mixer.block.norm));
  for (const Member& member : stack.members) {
    apply_mixer(pass.checkpoint, mixer, Stack::rows(stack.read, member).view(), Stack::rows(stack.written, member),
                pass.scratch);
  }
  add_branch(pass, {}, stack.written, stack.stream);
  stack.read_stream(load_norm(pass.checkpoint, mixer.block.mlp_norm));
  run_mlp(pass, mixer.block, stack.read.view(), stack.written.span());
  add_branch(pass, {}, stack.written, stack.stream);
}

}  // namespace

void run_layer(Pass& pass, Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  if (pass.options.on_stream) {
    for (const Member& member : stack.members) {
      pass.options.on_stream({member.input, index, Stack::rows(stack.stream, member).view()});
    }
  }
  const std::optional<Norm> norm = load_norm(pass.checkpoint, layer.norm);
  stack.read_stream(norm);
  run_attention(pass, stack, index, norm);
  if (pass.network.parallel) {
    run_parallel_branches(pass, stack, index, norm);
  } else {
    add_attention(pass, stack, index, stack.written);
    if (layer.has_mlp) {
      read_for_mlp(pass, stack, index, load_norm(pass.checkpoint, layer.mlp_norm));
      run_mlp(pass, layer, stack.read.view(), stack.written.span());
    }
  }
  if (layer.has_mlp) add_mlp(pass, stack, index);
  if (layer.token_input) add_layer_input(pass, stack, index);
  if (layer.block_scale != nullptr) scale_stream(pass.checkpoint, *layer.block_scale, stack.stream);
  pass.require_finite(stack.stream.view(), tensors_of(layer), fmt::format("layer {}", index));
  pass.release(tensors_of(layer));
}

void run_mixers(Pass& pass, Stack& stack, std::size_t before) {
  for (const MixerLayer& mixer : pass.network.mixers) {
    if (mixer.before != before) continue;
    run_mixer(pass, stack, mixer);
    pass.require_finite(stack.stream.view(), tensors_of(mixer), fmt::format("what precedes layer {}", before));
    pass.release(tensors_of(mixer));
  }
}

}  // namespace headscope
