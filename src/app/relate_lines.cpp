#include "app/relate_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope::app {
namespace {

std::string value_text(const Informativeness& one) {
  if (one.at_ceiling) {
    return fmt::format("at the ceiling of {:.1f} nats, the most that {} pairs can show", one.ceiling, one.pairs);
  }
  if (one.paper_low && one.paper_high) {
    return fmt::format("{:.3f} nats from random ({:.3f} to {:.3f} over heads)", one.paper, *one.paper_low,
                       *one.paper_high);
  }
  return fmt::format("{:.3f} nats from random (no interval: too few pairs are where random ones would be)", one.paper);
}

double comparable(double correlation) {
  return std::isnan(correlation) ? std::numeric_limits<double>::infinity() : correlation;
}

}  // namespace

std::string informativeness_lines(const RelateResult& result) {
  std::string lines;
  for (const Informativeness& one : result.informativeness) {
    lines += fmt::format("{:<12} {} {}\n", lines.empty() ? "informative" : "", to_string(one.pair), value_text(one));
  }
  return lines;
}

std::string sensitivity_sentence(const RelateResult& result) {
  if (result.sensitivity.empty()) return "";
  const auto& all = result.sensitivity;
  const Sensitivity& least =
      *std::ranges::min_element(all, {}, [](const Sensitivity& one) { return comparable(one.spearman); });
  const Sensitivity& fewest = *std::ranges::min_element(all, {}, &Sensitivity::top_overlap);
  std::size_t pairs = 0;
  while (pairs < all.size() && all[pairs].variant == all.front().variant) ++pairs;
  return fmt::format(
      "of {} variants of weight processing x {} role pairs, the smallest rank correlation with the default is {:.2f} "
      "({}, {}), the smallest overlap of the closest pairs {} of {} ({}, {})",
      all.size() / pairs, pairs, least.spearman, to_string(least.pair), least.variant, fewest.top_overlap, fewest.top,
      to_string(fewest.pair), fewest.variant);
}

std::string sensitivity_line(const RelateResult& result) {
  const std::string sentence = sensitivity_sentence(result);
  return sentence.empty() ? "" : fmt::format("{:<12} {}\n", "sensitivity", sentence);
}

Json sensitivity_json(const RelateResult& result) {
  Json rows = Json::array();
  for (const Sensitivity& one : result.sensitivity) {
    rows.push_back({{"pair", to_string(one.pair)},
                    {"variant", one.variant},
                    {"spearman", number(one.spearman)},
                    {"top_overlap", one.top_overlap},
                    {"top", one.top}});
  }
  return rows;
}

}  // namespace headscope::app
