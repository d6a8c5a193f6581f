#include "headscope/relate/wiring.h"

#include <fmt/format.h>

#include <algorithm>

#include "headscope/base/memory.h"
#include "headscope/relate/relate.h"
#include "relate/memory_plan.h"

namespace headscope {
namespace {

RelateOptions options_of(std::span<const RolePair> pairs, WeightProcessing weights) {
  RelateOptions options;
  options.pairs.assign(pairs.begin(), pairs.end());
  options.affinity.weights = weights;
  options.affinity.earlier_only = true;
  return options;
}

}  // namespace

std::size_t wiring_memory(const Model& model, std::span<const RolePair> pairs) {
  return relate_memory(model.info(), options_of(pairs, WeightProcessing::kFolded)).needed();
}

Wiring judge_wiring(const Model& model, std::span<const RolePair> pairs, WeightProcessing weights,
                    const MatchedOptions& matched, const Context& context) {
  const RelateOptions options = options_of(pairs, weights);
  const RelateMemory memory = relate_memory(model.info(), options);
  require_memory(context, memory.needed(), fmt::format("comparing {} heads", memory.heads));
  const Context streaming = context.without_memory(saturating_add(memory.results, memory.engine)).on_one_rank();
  constexpr double kAffinities = 0.7;  // their share of the time
  Wiring wiring;
  wiring.affinities =
      compute_affinities(model, Metric::kPk, pairs, options.affinity, streaming.part(0, kAffinities)).value();
  wiring.matched =
      matched_laws(model, Metric::kPk, pairs, options.affinity, matched, streaming.part(kAffinities, 1)).value();
  const std::size_t dimension = isotropic_dimension(model.info(), weights);
  wiring.judgments = judge(wiring.affinities, plan_nulls(options), dimension, wiring.matched);
  return wiring;
}

}  // namespace headscope
