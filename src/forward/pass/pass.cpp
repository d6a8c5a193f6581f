#include "forward/pass/pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "forward/finite.h"
#include "headscope/base/error.h"
#include "headscope/io/mapped_file.h"
#include "headscope/model/layer_order.h"
#include "headscope/model/read_weights.h"

namespace headscope {
namespace {

// A model with an encoder and a decoder runs all of its decoder, whose layers are not in order.
std::size_t last_layer(const HeadSizes& sizes, const ForwardOptions& options) {
  std::size_t end = std::min(options.end_layer, sizes.layers);
  const bool decodes = sizes.has_blocks() && end > sizes.encoder_layers;
  if (options.on_output || decodes) end = sizes.layers;
  const bool skips_encoder = sizes.has_blocks() && options.begin_layer >= sizes.encoder_layers;
  const bool has_start = options.begin_layer == 0 || (options.start && (!skips_encoder || options.encoder_output));
  if (options.begin_layer <= end && has_start) return end;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("a pass from layer {} to {} of {} has no start", options.begin_layer, end, sizes.layers));
}

std::vector<std::vector<float>> replacements_by_head(const HeadSizes& sizes, const ForwardOptions& options) {
  std::vector<std::vector<float>> result(sizes.layers * sizes.heads);
  for (const HeadReplacement& one : options.replacements) {
    if (one.layer >= sizes.layers || one.head >= sizes.heads || one.value.size() != sizes.width(one.layer, Role::kO)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("there is no head {} of width {} in layer {}", one.head, one.value.size(), one.layer));
    }
    result[one.layer * sizes.heads + one.head] = one.value;
  }
  return result;
}

// Mapped weights count as this process's memory until they are released.
bool exceeds_memory(const Checkpoint& checkpoint, const Context& context) {
  std::size_t bytes = 0;
  for (const StoredTensor* tensor : checkpoint.tensors()) bytes += bytes_of(*tensor);
  return bytes > context.memory / 4;
}

// What follows a stage that is not the last is the next stage, not the output.
Network network_of(const Model& model) {
  Network network = resolve_network(model);
  if (network.stage && network.stage->to_next) network.output = {};
  return network;
}

std::size_t steps_of(const BatchPlan& plan, const ForwardOptions& options, std::size_t begin, std::size_t end) {
  return plan.batches.size() * (end - begin + (options.on_output ? 1 : 0));
}

}  // namespace

Pass::Pass(const Model& of, std::span<const ModelInput> inputs, const ForwardOptions& request, const Context& context)
    : model(of),
      checkpoint(of.checkpoint()),
      sizes(of.info().sizes),
      options(request),
      network(network_of(of)),
      begin_step(step_of(sizes, request.begin_layer)),
      end_layer(last_layer(sizes, request)),
      replacements(replacements_by_head(sizes, request)),
      releases_pages(exceeds_memory(checkpoint, context)),
      plan(plan_batches(network, sizes, inputs, request, !begins_in_decoder(), context)),
      progress(context, steps_of(plan, request, begin_step, end_layer)) {}

bool Pass::begins_in_decoder() const noexcept {
  return sizes.has_blocks() && begin_step >= sizes.encoder_layers;
}

std::span<const std::vector<float>> Pass::replacements_of(std::size_t layer) const {
  return std::span(replacements).subspan(layer * sizes.heads, sizes.heads);
}

void Pass::release(const std::vector<const StoredTensor*>& tensors) const {
  if (!releases_pages) return;
  for (const StoredTensor* tensor : tensors) checkpoint.release(*tensor);
}

// Bad weights are more likely than overflow, but they are searched only after something went wrong.
void Pass::require_finite(MatrixView stream, const std::vector<const StoredTensor*>& tensors,
                          const std::string& after) const {
  if (all_finite(stream)) return;
  for (const StoredTensor* tensor : tensors) {
    if (tensor != nullptr) reject_non_finite(checkpoint, *tensor);
  }
  throw Error(ErrorKind::kNumeric,
              fmt::format("{}: activations are NaN or infinite after {}", checkpoint.path().string(), after));
}

}  // namespace headscope
