#include "headscope/relate/affinity.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "relate/angle_affinity.h"
#include "relate/product_affinity.h"

namespace headscope {
namespace {

void check_defined(Metric metric, std::span<const RolePair> pairs) {
  for (const RolePair pair : pairs) {
    if (!is_defined(metric, pair)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("metric '{}' is not defined for pair {}; it is for OQ, OK, OV", info(metric).name,
                              to_string(pair)));
    }
  }
}

}  // namespace

std::vector<Affinities> compute_affinities(const Model& model, Metric metric, std::span<const RolePair> pairs,
                                           const AffinityOptions& options, const AffinityEngine& engine) {
  check_defined(metric, pairs);
  std::vector<Affinities> results;
  for (const RolePair pair : pairs) results.push_back({.metric = metric, .pair = pair});
  if (info(metric).angles) {
    compute_angle_affinities(model, options, results);
  } else {
    compute_product_affinities(model, options, engine, results);
  }
  if (options.progress) options.progress(1);
  return results;
}

}  // namespace headscope
