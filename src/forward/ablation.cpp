#include "headscope/forward/ablation.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/error.h"

namespace headscope {
namespace {

void check_heads(const Model& model, std::span<const HeadId> heads) {
  const HeadSizes& sizes = model.info().sizes;
  for (const HeadId& id : heads) {
    if (id.key_value || !sizes.layer_of(id)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} is not a query head of the model, which has {}", to_string(id), sizes.text()));
    }
  }
}

}  // namespace

std::vector<HeadReplacement> zero_ablation(const Model& model, std::span<const HeadId> heads) {
  check_heads(model, heads);
  std::vector<HeadReplacement> all;
  const HeadSizes& sizes = model.info().sizes;
  for (const HeadId& id : heads) {
    const std::size_t layer = *sizes.layer_of(id);
    all.push_back({layer, id.head, std::vector<float>(sizes.width(layer, Role::kO))});
  }
  return all;
}

std::vector<HeadReplacement> mean_ablation(const Model& model, std::span<const HeadId> heads,
                                           std::span<const ModelInput> inputs, const Context& context) {
  check_heads(model, heads);
  if (inputs.empty())
    throw Error(ErrorKind::kInvalidArgument, "mean ablation: no inputs, expected at least one to average over");
  std::vector<HeadReplacement> all = zero_ablation(model, heads);
  if (heads.empty()) return all;
  std::vector<std::vector<double>> sums;
  for (const HeadReplacement& one : all) sums.emplace_back(one.value.size());
  std::vector<double> tokens(all.size());
  ForwardOptions pass;
  pass.end_layer = 1 + std::ranges::max(all, {}, &HeadReplacement::layer).layer;
  pass.on_heads = [&](const HeadOutputs& outputs) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].layer != outputs.layer) continue;
      tokens[i] += static_cast<double>(outputs.values.rows());
      for (std::size_t t = 0; t < outputs.values.rows(); ++t) {
        for (std::size_t j = 0; j < sums[i].size(); ++j) {
          sums[i][j] += static_cast<double>(outputs.values(t, all[i].head * sums[i].size() + j));
        }
      }
    }
  };
  run_forward(model, inputs, pass, context);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < sums[i].size(); ++j) all[i].value[j] = static_cast<float>(sums[i][j] / tokens[i]);
  }
  return all;
}

}  // namespace headscope
