#include "forward/pass/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "forward/embed.h"
#include "forward/memory_plan.h"
#include "forward/output.h"
#include "headscope/base/memory.h"

namespace headscope {
namespace {

// Larger batches do not make the matrix products faster.
constexpr std::size_t kBatchTokens = 4096;

Batch count_tokens(const Network& network, std::span<const ModelInput> inputs, std::size_t copies) {
  Batch all;
  for (std::size_t i = 0; i < inputs.size() * copies; ++i) {
    const std::size_t original = i % inputs.size();
    all.push_back({i, &inputs[original], input_tokens(network, inputs[original], original)});
  }
  return all;
}

// Starts a new batch whenever the next input would make it longer than `room` tokens.
std::vector<Batch> group(const Batch& inputs, std::size_t room) {
  std::vector<Batch> batches;
  std::size_t used = room + 1;
  for (const BatchInput& input : inputs) {
    if (used + input.all() > room) {
      batches.emplace_back();
      used = 0;
    }
    used += input.all();
    batches.back().push_back(input);
  }
  return batches;
}

}  // namespace

BatchPlan plan_batches(const Network& network, const HeadSizes& sizes, std::span<const ModelInput> inputs,
                       const ForwardOptions& options, bool runs_encoder, const Context& context) {
  const Batch all = count_tokens(network, inputs, options.copies);
  std::size_t longest = 1;
  std::size_t total = 0;
  std::size_t running = 0;
  for (const BatchInput& input : all) {
    longest = std::max(longest, input.all());
    total += input.all();
    running += runs_encoder ? input.all() : input.tokens.target;
  }
  MemoryPlan plan = plan_memory(network, sizes, longest);
  if (options.edits) {
    const EditsMemory edits = edits_memory(network, sizes);
    plan.fixed += edits.fixed;
    plan.per_token += edits.per_token;
  }
  const std::size_t block = plan.block(longest);
  const std::size_t needed = plan.needed(longest);
  require_memory(context, needed, fmt::format("running {} tokens", longest));

  // Reserves a quarter for the blocks of maps, if that leaves room for the longest input.
  BatchPlan result;
  result.output_rows = output_rows(network, longest, (context.memory - needed) / 8);
  const std::size_t shared =
      output_memory(network, result.output_rows) - output_memory(network, output_rows(network, longest, 0));
  const std::size_t rest = context.memory - plan.fixed - shared;
  const std::size_t blocks = std::max(block, context.memory / 4);
  const std::size_t fitting = rest > blocks ? (rest - blocks) / plan.per_token : 0;
  const std::size_t enough = running > 0 ? kBatchTokens * total / running : kBatchTokens;
  const std::size_t room = std::clamp(fitting, longest, std::max(longest, enough));
  result.max_blocks = (rest - room * plan.per_token) / block;
  result.batches = group(all, room);
  return result;
}

std::vector<Member> members_of(const Batch& batch, std::size_t TokenCounts::*tokens, const NetworkInput& in) {
  std::vector<Member> members;
  std::size_t first = 0;
  for (const BatchInput& one : batch) {
    const std::size_t count = one.tokens.*tokens;
    members.push_back({one.index, one.content, first, count, patch_grid(in, one.content->pixels)});
    first += count;
  }
  return members;
}

}  // namespace headscope
