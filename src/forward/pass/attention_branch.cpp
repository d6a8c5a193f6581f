#include "forward/pass/attention_branch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "forward/attention.h"
#include "forward/bias_table.h"
#include "forward/grid_bias.h"
#include "forward/parallel_rows.h"
#include "forward/pass/place_heads.h"
#include "forward/pass/project_heads.h"
#include "forward/pass/read_edits.h"
#include "forward/relative_scores.h"
#include "forward/window_attention.h"
#include "headscope/base/parallel.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

std::vector<bool> wanted_maps(const Pass& pass, std::size_t layer) {
  const ForwardOptions& options = pass.options;
  const bool asked = options.on_scores || options.on_pattern;
  std::vector<bool> wanted;
  for (std::size_t a = 0; a < pass.sizes.heads; ++a) {
    wanted.push_back(asked && (!options.wants_map || options.wants_map(layer, a)));
  }
  return wanted;
}

// Passes the blocks of one input's maps on, with their layer; empty if nobody asked.
std::function<void(std::size_t, std::size_t, MatrixView)> receiver(const std::function<void(const MapRows&)>& to,
                                                                   std::size_t input, std::size_t layer) {
  if (!to) return {};
  return [&to, input, layer](std::size_t head, std::size_t query, MatrixView values) {
    to({input, layer, head, query, values});
  };
}

// Multiplies the heads' outputs by their gates, which follow the queries.
void gate_outputs(const Pass& pass, std::size_t layer, const HeadColumns& queries, MatrixSpan outputs) {
  const std::size_t width = pass.sizes.width(layer, Role::kO);
  const auto replacements = pass.replacements_of(layer);
  parallel_for_rows(outputs.rows(), [&](std::size_t t) {
    for (std::size_t a = 0; a < pass.sizes.heads; ++a) {
      if (!replacements[a].empty()) continue;  // its mean output is gated already
      const float* gate = queries.at(t, a) + width;
      const std::span<float> out = outputs.row(t).subspan(a * width, width);
      for (std::size_t j = 0; j < width; ++j) out[j] /= 1 + std::exp(-gate[j]);
    }
  });
}

// Factors on the scores by head, of which the file has the logarithms.
std::vector<float> score_factors(const Checkpoint& checkpoint, const StoredTensor& logarithms) {
  std::vector<float> factors = read_vector(checkpoint, logarithms);
  for (float& one : factors) one = std::exp(std::min(one, std::log(100.0F)));
  return factors;
}

// The attention of one layer on the inputs of a batch.
class BatchAttention {
 public:
  BatchAttention(Pass& pass, Stack& stack, std::size_t index, const LayerHeads& heads)
      : pass_(pass),
        stack_(stack),
        index_(index),
        layer_(pass.network.layers[index]),
        heads_(heads),
        wanted_(wanted_maps(pass, index)) {
    if (layer_.sinks != nullptr) sinks_ = read_vector(pass.checkpoint, *layer_.sinks);
    if (layer_.score_factors != nullptr) head_factors_ = score_factors(pass.checkpoint, *layer_.score_factors);
    if (!layer_.window_bias.empty()) {
      window_bias_.emplace(pass.model, layer_.window_bias, layer_.patch_windows.side);
    }
  }

  // Runs all inputs. Many short ones are distributed among the threads, because one is too little work to share. Maps
  // are passed on input by input.
  void run() {
    constexpr std::size_t kPerThread = 4;
    const std::size_t count = stack_.members.size();
    const bool many = count >= kPerThread * thread_count() && pass_.plan.max_blocks >= thread_count();
    const bool asked = pass_.options.on_scores || pass_.options.on_pattern;
    if (many && !asked && pass_.network.relative.empty()) {  // relative scores decode into the scratch memory
      parallel_for(count, [&](std::size_t k) { run_input(k); });
      pass_.progress.report(kAttended);
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        run_input(k);
        pass_.progress.report(kAttended);
      }
    }
    if (!pass_.options.on_heads) return;
    for (const Member& member : stack_.members) {
      pass_.options.on_heads({member.input, index_, Stack::rows(stack_.heads, member).view()});
    }
  }

 private:
  void run_input(std::size_t k) {
    const Member& member = stack_.members[k];
    const Member& source = layer_.block == Block::kCross ? stack_.memory.members[k] : member;
    const std::array<HeadColumns, 3> columns = columns_of(member, source);
    place_heads(pass_, index_, stack_.positions.rotary(layer_, member), columns, member, source.tokens);
    AttentionTask one = task(columns, member, source.tokens);
    std::optional<RelativeScores> relative;
    if (!pass_.network.relative.empty()) {
      relative.emplace(pass_.model, pass_.network, layer_, member.tokens, pass_.scratch);
      one.relative = &*relative;
    }
    std::optional<GridBias> grid_bias;
    if (layer_.grid_bias != nullptr) {
      grid_bias.emplace(pass_.model, *layer_.grid_bias, member.grid);
      one.grid_bias = &*grid_bias;
    }
    std::optional<BiasTable> bias;
    if (!layer_.bias.empty()) {
      bias.emplace(pass_.model, layer_.bias, layer_.causal, member.tokens);
      one.bias = &*bias;
    }
    if (layer_.patch_windows.empty()) {
      attend(one);
    } else {
      const WindowParts windows(layer_.patch_windows, member.grid);
      attend_in_windows(one, windows, window_bias_ ? &*window_bias_ : nullptr);
    }
    if (layer_.gated_output) gate_outputs(pass_, index_, columns[0], one.out);
  }

  [[nodiscard]] std::array<HeadColumns, 3> columns_of(const Member& member, const Member& source) const {
    std::array<HeadColumns, 3> columns = heads_.columns;
    columns[0].data += member.first * columns[0].row_stride;
    for (HeadColumns& one : std::span(columns).subspan(1)) one.data += source.first * one.row_stride;
    return columns;
  }

  [[nodiscard]] AttentionTask task(const std::array<HeadColumns, 3>& columns, const Member& member, std::size_t keys) {
    const HeadSizes& sizes = pass_.sizes;
    const ForwardOptions& options = pass_.options;
    return {.q = columns[0],
            .k = columns[1],
            .v = columns[2],
            .out = Stack::rows(stack_.heads, member),
            .keys = keys,
            .heads = sizes.heads,
            .kv_heads = sizes.heads_of(sizes.kv_layer(index_), Role::kK),
            .d_key = sizes.width(index_, Role::kQ),
            .d_value = sizes.width(index_, Role::kV),
            .scale = layer_.score_scale,
            .head_factors = head_factors_,
            .cap = pass_.network.score_cap,
            .causal = layer_.causal,
            .window = layer_.window,
            .chunk = layer_.chunk,
            .sinks = sinks_,
            .relative = nullptr,
            .grid_bias = nullptr,
            .bias = stack_.positions.bias(layer_, member),
            .replacements = pass_.replacements_of(index_),
            .wanted = wanted_,
            .first_query = std::min(options.first_query, member.tokens),
            .end_query = std::min(options.end_query, member.tokens),
            .max_blocks = pass_.plan.max_blocks,
            .on_scores = receiver(options.on_scores, member.input, index_),
            .on_pattern = receiver(options.on_pattern, member.input, index_)};
  }

  Pass& pass_;
  Stack& stack_;
  std::size_t index_;
  const NetworkLayer& layer_;
  const LayerHeads& heads_;
  std::vector<bool> wanted_;
  std::vector<float> sinks_;
  std::vector<float> head_factors_;  // empty for none
  std::optional<WindowBias> window_bias_;
};

}  // namespace

void run_attention(Pass& pass, Stack& stack, std::size_t index, const std::optional<Norm>& norm) {
  const NetworkLayer& layer = pass.network.layers[index];
  const std::size_t width = pass.sizes.heads * pass.sizes.width(index, Role::kO);
  if (stack.heads.columns() != width) stack.heads = Matrix(stack.stream.rows(), width);
  LayerHeads heads = project_heads(pass, stack, index);
  if (pass.options.edits && index == pass.options.begin_layer) {
    apply_read_edits(pass, stack, layer, norm, heads.columns);
  }
  BatchAttention attention(pass, stack, index, heads);
  attention.run();
  stack.lent_keys.keep(pass.sizes, index, std::move(heads));
  if (index + 1 == pass.sizes.layers) stack.keep_requested_rows(pass);
  apply_linear(pass.checkpoint, layer.linear[3], stack.heads.view(), stack.written.span(), pass.scratch);
}

}  // namespace headscope
