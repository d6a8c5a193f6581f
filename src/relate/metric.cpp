#include "headscope/relate/metric.h"

#include <algorithm>
#include <array>

namespace headscope {
namespace {

constexpr std::array kTable = {
    MetricInfo{Metric::kPk, "pk", false, false, false},
    MetricInfo{Metric::kMaxCos, "max-cos", false, true, false},
    MetricInfo{Metric::kBinetCauchy, "binet-cauchy", false, true, false},
    MetricInfo{Metric::kChordal, "chordal", true, true, false},
    MetricInfo{Metric::kGrassmann, "grassmann", true, true, false},
    MetricInfo{Metric::kProcrustes, "procrustes", false, true, false},
    MetricInfo{Metric::kCka, "cka", false, false, false},
    MetricInfo{Metric::kCs, "cs", false, false, true},
    MetricInfo{Metric::kSimpleCs, "simple-cs", false, false, true},
};

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
  return metric != Metric::kCs || (pair.source == Role::kO && pair.target != Role::kO);
}

}  // namespace headscope
