#include "forward/pass/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <utility>

#include "forward/memory_plan.h"
#include "forward/mixers/mixer.h"
#include "forward/mixers/state_space.h"
#include "forward/parallel_rows.h"
#include "forward/pass/attention_branch.h"
#include "forward/pass/mlp_branch.h"
#include "forward/pass/side_streams.h"
#include "forward/pass/stream_changes.h"
#include "forward/token_inputs.h"
#include "forward/weights.h"
#include "headscope/forward/row_kernels.h"
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

void multiply(Matrix& x, float factor) {
  if (factor == 1) return;
  for (float& value : x.values()) value *= factor;
}

void report_side_streams(const Pass& pass, Stack& stack, std::size_t layer) {
  if (!pass.options.on_side) return;
  for (std::size_t s = 0; s < stack.side_streams.size(); ++s) {
    for (const Member& member : stack.members) {
      pass.options.on_side({member.input, layer, s, Stack::rows(stack.side_streams[s], member).view()});
    }
  }
}

void add_attention(const Pass& pass, Stack& stack, std::size_t index, Matrix& output) {
  const NetworkLayer& layer = pass.network.layers[index];
  multiply(output, layer.attention_factor);
  const Branch branch{layer.attention_scale, load_norm(pass.checkpoint, layer.norm_after_attention)};
  report_norm(pass, stack, index, /*after_mlp=*/false, add_branch(pass, branch, output, stack.stream));
}

void add_mlp(const Pass& pass, Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  multiply(stack.written, layer.mlp_factor);
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

// Adds what the layer makes of its tokens' inputs (Gemma 3n and 4).
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
  Matrix read = stack.stream;
  if (input.scale != nullptr) {
    const std::vector<float> scale = read_vector(pass.checkpoint, *input.scale);
    parallel_for_rows(read.rows(), [&](std::size_t t) {
      for (std::size_t j = 0; j < scale.size(); ++j) read(t, j) *= scale[j];
    });
  }
  const Matrix addend =
      token_addend(pass.checkpoint, input, pass.network.activation, inputs.view(), read.view(), pass.scratch);
  const bool only_sides = !stack.side_streams.empty();
  parallel_for_rows(addend.rows(), [&](std::size_t t) {
    if (!only_sides) add_scaled(addend.row(t), {}, stack.stream.row(t));
    for (Matrix& side : stack.side_streams) add_scaled(addend.row(t), {}, side.row(t));
  });
}

// Adds the branch beside attention, which reads what attention has read.
void add_low_rank(Pass& pass, Stack& stack, const LowRankBranch& branch) {
  Matrix inner(stack.read.rows(), branch.in.out());
  apply_linear(pass.checkpoint, branch.in, stack.read.view(), inner.span(), pass.scratch);
  apply_linear(pass.checkpoint, branch.out, inner.view(), stack.written.span(), pass.scratch);
  const Norm norm(pass.checkpoint, branch.norm);
  parallel_for_rows(stack.stream.rows(), [&](std::size_t t) {
    norm.apply_row(stack.written.row(t), stack.written.row(t));
    const std::span<float> row = stack.stream.row(t);
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] = (row[j] + stack.read(t, j) + stack.written(t, j)) / std::numbers::sqrt2_v<float>;
    }
  });
}

void scale_stream(const Checkpoint& checkpoint, const StoredTensor& scale, Matrix& stream) {
  const float factor = read_vector(checkpoint, scale).front();
  for (float& value : stream.values()) value *= factor;
}

void run_mixer(Pass& pass, Stack& stack, const MixerLayer& mixer) {
  if (mixer.block.norm) {
    stack.read_stream(load_norm(pass.checkpoint, mixer.block.norm));
    for (const Member& member : stack.members) {
      apply_mixer(pass.checkpoint, mixer, Stack::rows(stack.read, member).view(), Stack::rows(stack.written, member),
                  pass.scratch);
    }
    add_branch(pass, {}, stack.written, stack.stream);
  }
  if (!mixer.block.has_mlp) return;
  stack.read_stream(load_norm(pass.checkpoint, mixer.block.mlp_norm));
  run_mlp(pass, mixer.block, stack.read.view(), stack.written.span());
  add_branch(pass, {}, stack.written, stack.stream);
}

// What a mixer beside attention makes of the tokens of all inputs.
Matrix run_beside(Pass& pass, Stack& stack, const GroupedState& mixer) {
  Matrix result(stack.read.rows(), stack.read.columns());
  for (const Member& member : stack.members) {
    apply_grouped_state(pass.checkpoint, mixer, Stack::rows(stack.read, member).view(), Stack::rows(result, member),
                        pass.scratch);
  }
  return result;
}

// Adds it to the stream, of which only the requested rows may be left.
void add_beside(Stack& stack, const Matrix& beside) {
  for (std::size_t k = 0; k < stack.members.size(); ++k) {
    const KeptRows& kept = stack.kept[k];
    for (std::size_t t = 0; t < kept.count; ++t) {
      add_scaled(beside.row(stack.members[k].first + kept.first + t), {}, stack.stream.row(kept.at + t));
    }
  }
}

}  // namespace

void run_layer(Pass& pass, Stack& stack, std::size_t index) {
  const NetworkLayer& layer = pass.network.layers[index];
  if (layer.update) predict_streams(pass, stack, index, *layer.update);
  if (pass.options.on_stream) {
    for (const Member& member : stack.members) {
      pass.options.on_stream({member.input, index, Stack::rows(stack.stream, member).view()});
    }
  }
  report_side_streams(pass, stack, index);
  const std::optional<Norm> norm = load_norm(pass.checkpoint, layer.norm);
  stack.read_stream(norm);
  const Matrix beside = layer.beside ? run_beside(pass, stack, *layer.beside) : Matrix();
  run_attention(pass, stack, index, norm);
  if (layer.beside) add_beside(stack, beside);
  if (pass.network.parallel) {
    run_parallel_branches(pass, stack, index, norm);
  } else {
    add_attention(pass, stack, index, stack.written);
    if (layer.low_rank) add_low_rank(pass, stack, *layer.low_rank);
    if (layer.has_mlp) {
      read_for_mlp(pass, stack, index, load_norm(pass.checkpoint, layer.mlp_norm));
      run_mlp(pass, layer, stack.read.view(), stack.written.span());
    }
  }
  if (layer.has_mlp) add_mlp(pass, stack, index);
  if (layer.update) correct_streams(pass, stack, index, *layer.update);
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
