#include "headscope/relate/affinity.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "headscope/model/rotary_of.h"
#include "relate/angle_affinity.h"
#include "relate/product_affinity.h"

namespace headscope {
namespace {

void check_defined(Metric metric, std::span<const RolePair> pairs) {
  for (const RolePair pair : pairs) {
    if (!is_defined(metric, pair)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("metric '{}' is not defined for pair {}; expected one of OQ, OK, OV", info(metric).name,
                              to_string(pair)));
    }
  }
}

}  // namespace

void check_metric(const Model& model, Metric metric) {
  const HeadSizes& sizes = model.info().sizes;
  for (std::size_t layer = 0; layer < sizes.layers && info(metric).by_query_head(); ++layer) {
    if (sizes.kv_layer(layer) == layer) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: metric '{}' compares products of a layer's own matrices, but the queries of layer {} "
                            "use the keys and values of layer {}; use pk instead",
                            model.checkpoint().path().string(), info(metric).name, layer, sizes.kv_layer(layer)));
  }
  if (info(metric).factor == FactorKind::kRotaryProduct && !sizes.by_layer.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: metric '{}' needs the same rotary positions in all layers, but heads have a width per "
                            "layer; use cs instead",
                            model.checkpoint().path().string(), info(metric).name));
  }
  if (info(metric).factor != FactorKind::kRotaryProduct || rotary_of(model).width > 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}: metric '{}' needs rotary positions, but the model's positions are {}; use cs instead",
                          model.checkpoint().path().string(), info(metric).name, to_string(model.info().position)));
}

std::optional<std::vector<Affinities>> compute_affinities(const Model& model, Metric metric,
                                                          std::span<const RolePair> pairs,
                                                          const AffinityOptions& options, const Context& context,
                                                          FinishedBlocks* finished) {
  check_defined(metric, pairs);
  check_metric(model, metric);
  std::vector<Affinities> results;
  for (const RolePair pair : pairs) results.push_back({.metric = metric, .pair = pair});
  if (info(metric).angles()) {
    compute_angle_affinities(model, options, context, finished, results);
  } else {
    compute_product_affinities(model, options, context, finished, results);
  }
  context.report(1);
  if (!context.ranks.get().is_root()) return std::nullopt;
  return results;
}

}  // namespace headscope
