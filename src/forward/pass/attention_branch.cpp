#include "forward/pass/attention_branch.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "forward/attention.h"
#include "forward/layer_scores.h"
#include "forward/parallel_rows.h"
#include "forward/pass/place_heads.h"
#include "forward/pass/project_heads.h"
#include "forward/pass/read_edits.h"
#include "forward/window_attention.h"
#include "headscope/base/parallel.h"

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

// Where the keys of an input come from.
const Member& source_of(const Stack& stack, const NetworkLayer& layer, std::size_t k) {
  return layer.block == Block::kCross ? stack.memory.members[k] : stack.members[k];
}

// The rows of one input.
std::array<HeadColumns, 3> columns_of(const LayerHeads& heads, const Member& member, const Member& source) {
  std::array<HeadColumns, 3> columns = heads.columns;
  columns[0].data += member.first * columns[0].row_stride;
  for (HeadColumns& one : std::span(columns).subspan(1)) one.data += source.first * one.row_stride;
  return columns;
}

// Places the heads of all inputs. Many short ones are distributed among the threads.
void place_inputs(const Stack& stack, const NetworkLayer& layer, const Placement& placement, const LayerHeads& heads) {
  const auto place = [&](std::size_t k) {
    const Member& member = stack.members[k];
    const Member& source = source_of(stack, layer, k);
    place_heads(placement, stack.positions.rotary(layer, member.shape()), columns_of(heads, member, source),
                member.tokens, source.tokens);
  };
  if (stack.members.size() >= thread_count()) {
    parallel_for(stack.members.size(), place);
  } else {
    for (std::size_t k = 0; k < stack.members.size(); ++k) place(k);
  }
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
        scores_(pass.model, pass.network, layer_),
        wanted_(wanted_maps(pass, index)) {}

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
    const Member& source = source_of(stack_, layer_, k);
    const std::array<HeadColumns, 3> columns = columns_of(heads_, member, source);
    const InputScores scores(pass_.model, pass_.network, layer_, member.shape(), pass_.scratch);
    AttentionTask one = task(columns, member, source.tokens);
    one.rules = scores_.rules(scores, stack_.positions.bias(layer_, member.shape()));
    if (one.rules.windows == nullptr) {
      attend(one);
    } else {
      attend_in_windows(one);
    }
    if (layer_.gated_output) gate_outputs(pass_, index_, columns[0], one.out);
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
            .rules = {},
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
  LayerScores scores_;
  std::vector<bool> wanted_;
};

}  // namespace

void run_attention(Pass& pass, Stack& stack, std::size_t index, const std::optional<Norm>& norm) {
  const NetworkLayer& layer = pass.network.layers[index];
  const std::size_t width = pass.sizes.heads * pass.sizes.width(index, Role::kO);
  if (stack.heads.columns() != width) stack.heads = Matrix(stack.stream.rows(), width);
  LayerHeads heads = project_heads(pass, stack, index);
  const Placement placement(pass.checkpoint, pass.network, pass.sizes, index);
  place_inputs(stack, layer, placement, heads);
  if (pass.options.edits && index == pass.options.begin_layer) {
    apply_read_edits(pass, stack, index, norm, placement, heads.columns);
  }
  BatchAttention attention(pass, stack, index, heads);
  attention.run();
  stack.lent_keys.keep(pass, stack.members, index, std::move(heads));
  if (index + 1 == pass.sizes.layers) stack.keep_requested_rows(pass);
  apply_linear(pass.checkpoint, layer.linear[3], stack.heads.view(), stack.written.span(), pass.scratch);
}

}  // namespace headscope
