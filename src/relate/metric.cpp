#include "headscope/relate/metric.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace headscope {
namespace {

// No default case: a metric that is missing here is a compiler error. The name is empty for other numbers.
constexpr MetricInfo describe(Metric metric) {
  switch (metric) {
    case Metric::kPk:
      return {.metric = metric, .name = "pk", .factor = FactorKind::kBasis};
    case Metric::kMaxCos:
      return {.metric = metric, .name = "max-cos"};
    case Metric::kBinetCauchy:
      return {.metric = metric, .name = "binet-cauchy", .logarithm = true};
    case Metric::kChordal:
      return {.metric = metric, .name = "chordal", .distance = true};
    case Metric::kGrassmann:
      return {.metric = metric, .name = "grassmann", .distance = true};
    case Metric::kProcrustes:
      return {.metric = metric, .name = "procrustes"};
    case Metric::kCka:
      return {.metric = metric, .name = "cka", .factor = FactorKind::kWeights, .divisor = FactorDivisor::kRootOfSquare};
    case Metric::kCs:
      return {.metric = metric,
              .name = "cs",
              .factor = FactorKind::kProduct,
              .divisor = FactorDivisor::kNorm,
              .root = true};
    case Metric::kRopeCs:
      return {.metric = metric,
              .name = "rope-cs",
              .factor = FactorKind::kRotaryProduct,
              .divisor = FactorDivisor::kNorm,
              .root = true};
    case Metric::kSimpleCs:
      return {.metric = metric,
              .name = "simple-cs",
              .factor = FactorKind::kWeights,
              .divisor = FactorDivisor::kNorm,
              .root = true};
    case Metric::kCoupling:
      return {.metric = metric, .name = "coupling", .factor = FactorKind::kWeights, .root = true};
  }
  return {};
}

constexpr std::size_t count_metrics() {
  std::size_t count = 0;
  while (!describe(static_cast<Metric>(count)).name.empty()) ++count;
  return count;
}

constexpr auto kTable = [] {
  std::array<MetricInfo, count_metrics()> table;
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = describe(static_cast<Metric>(i));
  return table;
}();

}  // namespace

const MetricInfo& info(Metric metric) noexcept {
  return kTable[static_cast<std::size_t>(metric)];
}

std::span<const MetricInfo> all_metrics() noexcept {
  return kTable;
}

std::optional<Metric> parse_metric(std::string_view name) noexcept {
  const auto* found = std::ranges::find(kTable, name, &MetricInfo::name);
  if (found == kTable.end()) return std::nullopt;
  return found->metric;
}

bool is_defined(Metric metric, RolePair pair) noexcept {
  return !info(metric).products() || (pair.source == Role::kO && pair.target != Role::kO);
}

double similarity(Metric metric, float value) noexcept {
  const auto wide = static_cast<double>(value);
  if (info(metric).distance) return 1 / (1 + wide);
  return info(metric).logarithm ? std::exp(wide) : std::max(0.0, wide);
}

}  // namespace headscope
