#include "headscope/forward/forward.h"

#include <algorithm>
#include <map>
#include <utility>

#include "forward/embed.h"
#include "forward/memory_plan.h"
#include "forward/output.h"
#include "forward/pass/layer.h"
#include "forward/pass/pass.h"
#include "forward/pass/side_streams.h"
#include "forward/pass/stack.h"
#include "forward/pass/stream_changes.h"
#include "forward/stages.h"
#include "forward/weights.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/layer_order.h"

namespace headscope {
namespace {

void run_step(Pass& pass, Stack& stack, std::size_t layer) {
  run_layer(pass, stack, layer);
  pass.progress.step();
}

void write_requested_output(Pass& pass, Stack& stack) {
  if (!pass.options.on_output) return;
  merge_side_streams(pass, stack);
  if (pass.options.output_change) add_changes(stack, pass.options.output_change, stack.stream);
  std::vector<OutputPart> parts;
  for (std::size_t k = 0; k < stack.members.size(); ++k) {
    const KeptRows& kept = stack.kept[k];
    parts.push_back({.input = stack.members[k].input,
                     .stream = stack.stream.span().block(kept.at, kept.count, 0, stack.stream.columns()),
                     .first = kept.first,
                     .rows = stack.members[k].tokens});
  }
  write_output(pass.model, pass.network, parts, pass.options, pass.plan.output_rows, pass.scratch,
               [&] { pass.progress.report(0); });
  pass.progress.step();
}

std::vector<Member> source_members(const Pass& pass, const Batch& batch) {
  return members_of(batch, &TokenCounts::source, pass.network.input);
}

// Begins with what the encoder or the only stack reads.
Stack begin_source(Pass& pass, const Batch& batch) {
  const Network& network = pass.network;
  return {pass, network.input, network.bias, network.causal, source_members(pass, batch), pass.options.start};
}

void run_only_stack(Pass& pass, const Batch& batch) {
  const std::size_t begin = pass.options.begin_layer;
  Stack stack = begin_source(pass, batch);
  for (std::size_t i = begin; i < pass.end_layer; ++i) {
    if (!pass.options.start || i > begin) run_mixers(pass, stack, i);  // a stream that is given is that after these
    run_step(pass, stack, i);
  }
  if (pass.end_layer == pass.sizes.layers) run_mixers(pass, stack, pass.end_layer);
  write_requested_output(pass, stack);
}

EncoderOutput run_encoder(Pass& pass, const Batch& batch) {
  Stack stack = begin_source(pass, batch);
  const std::size_t end = std::min(pass.end_layer, pass.sizes.encoder_layers);
  for (std::size_t i = pass.begin_step; i < end; ++i) run_step(pass, stack, i);
  if (pass.options.on_encoder_output) {
    for (const Member& member : stack.members) {
      pass.options.on_encoder_output({member.input, end, Stack::rows(stack.stream, member).view()});
    }
  }
  return {std::move(stack.members), std::move(stack.stream)};
}

EncoderOutput given_encoder_output(const Pass& pass, const Batch& batch) {
  EncoderOutput memory{source_members(pass, batch)};
  std::vector<const Member*> originals;
  std::map<const ModelInput*, std::size_t> firsts;
  std::size_t rows = 0;
  for (const Member& member : memory.members) {
    const auto [place, is_new] = firsts.try_emplace(member.content, rows);
    memory.shared.push_back(place->second);
    if (!is_new) continue;
    originals.push_back(&member);
    rows += member.tokens;
  }
  memory.stream = Matrix(rows, pass.sizes.d_model);
  for (const Member* one : originals) {
    const MatrixSpan own = memory.stream.span().block(firsts.at(one->content), one->tokens, 0, pass.sizes.d_model);
    pass.options.encoder_output(one->input, own);
  }
  return memory;
}

void run_decoder(Pass& pass, const Batch& batch, EncoderOutput memory) {
  const Network& network = pass.network;
  if (const auto norm = load_norm(pass.checkpoint, network.memory_norm)) {
    norm->apply(memory.stream.view(), memory.stream.span());
  }
  Stack stack(pass, *network.target, network.target_bias, /*causal=*/true,
              members_of(batch, &TokenCounts::target, *network.target),
              pass.begins_in_decoder() ? pass.options.start : ForwardOptions{}.start);
  stack.memory = std::move(memory);
  for (std::size_t i = std::max(pass.begin_step, pass.sizes.encoder_layers); i < pass.sizes.layers; ++i) {
    run_step(pass, stack, layer_at(pass.sizes, i));
  }
  write_requested_output(pass, stack);
}

void run_batch(Pass& pass, const Batch& batch) {
  if (!pass.network.target) {
    run_only_stack(pass, batch);
    return;
  }
  EncoderOutput memory = pass.begins_in_decoder() ? given_encoder_output(pass, batch) : run_encoder(pass, batch);
  if (pass.end_layer > pass.sizes.encoder_layers) run_decoder(pass, batch, std::move(memory));
}

}  // namespace

void run_forward(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options,
                 const Context& context) {
  const auto run_pass = [inputs](const Model& stage, const ForwardOptions& own, const Context& rest) {
    Pass pass(stage, inputs, own, rest);
    for (const Batch& batch : pass.plan.batches) run_batch(pass, batch);
  };
  if (resolve_network(model).stage) {
    run_stages(model, inputs, options, context, run_pass);
  } else {
    run_pass(model, options, context);
  }
}

std::size_t token_count(const Model& model, const ModelInput& input) {
  const TokenCounts counts = token_counts(model, input);
  return counts.source + counts.target;
}

TokenCounts token_counts(const Model& model, const ModelInput& input) {
  return input_tokens(resolve_network(model), input, 0);
}

InputShape input_shape(const Model& model, const ModelInput& input) {
  const Network network = resolve_network(model);
  return {input_tokens(network, input, 0).source, patch_grid(network.input, input.pixels)};
}

std::size_t forward_memory(const Model& model, std::size_t longest) {
  const Network network = resolve_network(model);
  const std::size_t own = plan_memory(network, model.info().sizes, longest).needed(longest);
  return network.stage ? std::max(own, earlier_stages_memory(model, network, longest)) : own;
}

std::size_t edits_memory(const Model& model, std::size_t longest) {
  const EditsMemory needed = edits_memory(resolve_network(model), model.info().sizes);
  return needed.fixed + needed.per_token * longest;
}

}  // namespace headscope
