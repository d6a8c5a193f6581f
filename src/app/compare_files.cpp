#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/json_text.h"
#include "app/run_output.h"
#include "headscope/app/compare.h"
#include "headscope/base/error.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/compare.h"
#include "headscope/tree/tree_json.h"

namespace headscope {
namespace {

using app::Json;
using app::number;

// Mean and standard deviation over the samples of a number; for a curve, of the mean of its components.
struct Spread {
  double mean = std::nan("");
  double deviation = std::nan("");
};

Spread summarize(const ComparedRun& run, const std::string& feature) {
  const auto found = std::ranges::find(run.features, feature, &FeatureSamples::name);
  Spread summary;
  if (found == run.features.end()) return summary;
  std::vector<double> values;
  for (const auto& sample : found->samples) {
    double sum = 0;
    for (const double value : sample) sum += value / static_cast<double>(sample.size());
    if (!std::isnan(sum)) values.push_back(sum);
  }
  if (values.empty()) return summary;
  const auto n = static_cast<double>(values.size());
  summary.mean = 0;
  for (const double value : values) summary.mean += value / n;
  if (values.size() < 2) return summary;
  double square = 0;
  for (const double value : values) square += (value - summary.mean) * (value - summary.mean);
  summary.deviation = std::sqrt(square / (n - 1));
  return summary;
}

std::string text_of(const Spread& summary) {
  if (std::isnan(summary.mean)) return "-";
  if (std::isnan(summary.deviation)) return fmt::format("{:.3f}", summary.mean);
  return fmt::format("{:.3f} +- {:.3f}", summary.mean, summary.deviation);
}

std::vector<std::string> feature_names(const std::vector<ComparedNetwork>& sources) {
  std::vector<std::string> names;
  for (const ComparedNetwork& source : sources) {
    for (const FeatureSamples& feature : source.run.features) {
      if (std::ranges::find(names, feature.name) == names.end()) names.push_back(feature.name);
    }
  }
  return names;
}

struct PairCounts {
  std::size_t differ = 0;
  std::size_t tested = 0;
};

PairCounts counts(const Comparison& comparison, std::size_t a, std::size_t b) {
  PairCounts result;
  for (const FeatureDifference& one : comparison.differences) {
    if (one.a != a || one.b != b || one.verdict == DifferenceVerdict::kUntested) continue;
    ++result.tested;
    if (one.verdict == DifferenceVerdict::kDiffers) ++result.differ;
  }
  return result;
}

// "64", or "12 to 64"; empty without maps.
std::string tokens_text(const ComparedNetwork& source) {
  if (source.inputs == 0) return {};
  if (source.min_tokens == source.max_tokens) return std::to_string(source.max_tokens);
  return fmt::format("{} to {}", source.min_tokens, source.max_tokens);
}

Json sources_json(const std::vector<ComparedNetwork>& sources) {
  Json list = Json::array();
  for (const ComparedNetwork& source : sources) {
    list.push_back({{"name", source.run.name},
                    {"path", source.path.string()},
                    {"kind", source.kind},
                    {"inputs", source.inputs},
                    {"heads", source.heads},
                    {"tokens", tokens_text(source)}});
  }
  return list;
}

Json distances_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < comparison.distances.rows(); ++i) {
    const auto row = comparison.distances.row(i);
    rows.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return rows;
}

Json pairs_json(const Comparison& comparison) {
  Json pairs = Json::array();
  for (std::size_t i = 0; i < comparison.distances.rows(); ++i) {
    for (std::size_t j = i + 1; j < comparison.distances.rows(); ++j) {
      const PairCounts found = counts(comparison, i, j);
      pairs.push_back({{"a", i},
                       {"b", j},
                       {"distance", comparison.distances(i, j)},
                       {"differ", found.differ},
                       {"tested", found.tested},
                       {"verdict", pair_verdict(comparison, i, j)}});
    }
  }
  return pairs;
}

void add_features(RunFolder& folder, const std::vector<ComparedNetwork>& sources) {
  Table table = make_table(run_files::kFeatures);
  for (const ComparedNetwork& source : sources) {
    for (const FeatureSamples& feature : source.run.features) {
      const bool of_weights = feature.samples.size() == 1 && source.inputs != 1;
      for (std::size_t i = 0; i < feature.samples.size(); ++i) {
        const std::optional<std::size_t> input = of_weights ? std::nullopt : std::optional(i);
        for (std::size_t k = 0; k < feature.samples[i].size(); ++k) {
          const std::optional<double> x = feature.x.empty() ? std::nullopt : std::optional(feature.x[k]);
          table.add_row({source.run.name, input, feature.name, x, feature.samples[i][k]});
        }
      }
    }
  }
  folder.add_table(run_files::kFeatures, std::move(table));
}

void add_organizations(RunFolder& folder, const std::vector<ComparedNetwork>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const ComparedAxis& axis : sources[i].axes) {
      const Placeholders names = {{"run", std::to_string(i)}, {"axis", axis.name}};
      const std::size_t n = axis.organized.tree.size();
      folder.add_text(describe(run_files::kComparedTree, names, {n}), to_json(axis.organized.tree, axis.elements));
      const auto values = axis.organized.affinity.values();
      folder.add_array(describe(run_files::kComparedAffinity, names, {n, n}),
                       std::vector<float>(values.begin(), values.end()));
    }
  }
}

void add_differences(RunFolder& folder, const CompareOutcome& outcome) {
  Table table = make_table(run_files::kComparison);
  for (const FeatureDifference& one : outcome.comparison.differences) {
    const ComparedRun& a = outcome.sources[one.a].run;
    const ComparedRun& b = outcome.sources[one.b].run;
    table.add_row({a.name, b.name, one.feature, summarize(a, one.feature).mean, summarize(b, one.feature).mean,
                   one.difference, one.spread, one.p, one.p_family, one.paired, to_string(one.verdict)});
  }
  folder.add_table(run_files::kComparison, std::move(table));
}

// For two runs: both means of every feature with their deviations, and the verdict.
std::string pair_lines(const CompareOutcome& outcome) {
  const ComparedRun& a = outcome.sources[0].run;
  const ComparedRun& b = outcome.sources[1].run;
  std::string lines = fmt::format("\n  {:<18} {:>20} {:>20} {:>10} {:>10}  {}\n", "feature", printable(a.name, 20),
                                  printable(b.name, 20), "/ spread", "p (family)", "");
  for (const FeatureDifference& one : outcome.comparison.differences) {
    const std::string ratio = one.spread > 0 ? fmt::format("{:.1f}", std::abs(one.difference) / one.spread) : "-";
    const std::string p = std::isnan(one.p_family) ? "-" : fmt::format("{:.3f}", one.p_family);
    lines += fmt::format("  {:<18} {:>20} {:>20} {:>10} {:>10}  {}\n", one.feature, text_of(summarize(a, one.feature)),
                         text_of(summarize(b, one.feature)), ratio, p,
                         one.verdict == DifferenceVerdict::kDiffers ? "differs" : "");
  }
  return lines;
}

// For more than two runs: the mean of every feature in every run.
std::string mean_lines(const CompareOutcome& outcome) {
  std::string lines = fmt::format("\n  {:<18}", "feature");
  for (std::size_t i = 0; i < outcome.sources.size(); ++i) lines += fmt::format(" {:>16}", fmt::format("[{}]", i));
  lines += "  pairs that differ\n";
  for (const std::string& feature : feature_names(outcome.sources)) {
    lines += fmt::format("  {:<18}", feature);
    for (const ComparedNetwork& one : outcome.sources) {
      lines += fmt::format(" {:>16}", text_of(summarize(one.run, feature)));
    }
    const auto differ = std::ranges::count_if(outcome.comparison.differences, [&](const FeatureDifference& one) {
      return one.feature == feature && one.verdict == DifferenceVerdict::kDiffers;
    });
    lines += fmt::format("  {}\n", differ);
  }
  return lines;
}

}  // namespace

std::string pair_verdict(const Comparison& comparison, std::size_t a, std::size_t b) {
  const PairCounts found = counts(comparison, a, b);
  if (found.tested == 0) {
    const bool paired = std::ranges::any_of(
        comparison.differences, [&](const FeatureDifference& one) { return one.a == a && one.b == b && one.paired; });
    return fmt::format("not tested: too few inputs for a family-wise p below 0.05, capture {} for each",
                       inputs_needed(comparison.pairs, paired));
  }
  if (found.differ > 0) {
    return fmt::format("{} of {} features differ beyond the spread over inputs (family-wise p < 0.05)", found.differ,
                       found.tested);
  }
  return fmt::format("no difference beyond the spread over inputs in {} features", found.tested);
}

std::vector<std::string> verdict(const CompareOutcome& outcome) {
  const std::vector<ComparedNetwork>& sources = outcome.sources;
  std::vector<std::string> sentences;
  std::size_t tested = 0;
  std::size_t differ = 0;
  for (std::size_t a = 0; a < sources.size(); ++a) {
    for (std::size_t b = a + 1; b < sources.size(); ++b) {
      const PairCounts found = counts(outcome.comparison, a, b);
      tested += found.tested > 0 ? 1U : 0U;
      differ += found.differ > 0 ? 1U : 0U;
      sentences.push_back(fmt::format("{} and {}: {}.", printable(sources[a].run.name, 60),
                                      printable(sources[b].run.name, 60), pair_verdict(outcome.comparison, a, b)));
    }
  }
  if (sentences.size() == 1) return sentences;
  const std::string corrected =
      fmt::format("p is corrected for the features and for {} pairs", outcome.comparison.pairs);
  std::string headline =
      fmt::format("{} of {} pairs of runs differ beyond the spread over inputs; {}.", differ, tested, corrected);
  if (differ == 0)
    headline = fmt::format("No difference beyond the spread over inputs in {} pairs of runs; {}.", tested, corrected);
  if (tested == 0) headline = "No pair of runs was tested: too few inputs.";
  sentences.insert(sentences.begin(), headline);
  return sentences;
}

void write(const CompareOutcome& outcome, RunFolder& folder) {
  const std::size_t n = outcome.sources.size();
  folder.verdict() = verdict(outcome);
  add_differences(folder, outcome);
  add_features(folder, outcome.sources);
  const auto distances = outcome.comparison.distances.values();
  folder.add_array(describe(run_files::kDistances, {}, {n, n}), std::vector<float>(distances.begin(), distances.end()));
  const Json names = {{"runs", sources_json(outcome.sources)},
                      {"features", feature_names(outcome.sources)},
                      {"pairs", pairs_json(outcome.comparison)},
                      {"verdict", verdict(outcome)}};
  folder.add_text(describe(run_files::kCompared), app::json_text(names));
  add_organizations(folder, outcome.sources);
}

std::string summary(const CompareOutcome& outcome) {
  const std::vector<ComparedNetwork>& sources = outcome.sources;
  std::string text = verdict(outcome).front() + "\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ComparedNetwork& one = sources[i];
    text += fmt::format("[{}] {:<20} {}", i, printable(one.run.name, 60), one.kind);
    if (one.inputs > 0) {
      text += fmt::format(", {} heads, {} input{} of {} tokens", one.heads, one.inputs, one.inputs == 1 ? "" : "s",
                          tokens_text(one));
    }
    text += '\n';
  }
  text += sources.size() == 2 ? pair_lines(outcome) : mean_lines(outcome);
  text += "\ndistances\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    text += fmt::format("  {:<5}", fmt::format("[{}]", i));
    for (std::size_t j = 0; j < sources.size(); ++j)
      text += fmt::format(" {:>6.2f}", outcome.comparison.distances(i, j));
    text += '\n';
  }
  if (sources.size() > 2) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      for (std::size_t j = i + 1; j < sources.size(); ++j) {
        text += fmt::format("[{}] and [{}]: {}\n", i, j, pair_verdict(outcome.comparison, i, j));
      }
    }
  }
  return text + "\n" + app::files_line(outcome.files);
}

std::string to_json(const CompareOutcome& outcome) {
  Json differences = Json::array();
  for (const FeatureDifference& one : outcome.comparison.differences) {
    differences.push_back({{"a", one.a},
                           {"b", one.b},
                           {"feature", one.feature},
                           {"difference", number(one.difference)},
                           {"spread", number(one.spread)},
                           {"p", number(one.p)},
                           {"p_family", number(one.p_family)},
                           {"paired", one.paired},
                           {"verdict", to_string(one.verdict)}});
  }
  Json root = {{"runs", sources_json(outcome.sources)},
               {"distances", distances_json(outcome.comparison)},
               {"pairs", pairs_json(outcome.comparison)},
               {"differences", differences},
               {"verdict", verdict(outcome)}};
  return app::json_text(std::move(root), outcome.files);
}

}  // namespace headscope
