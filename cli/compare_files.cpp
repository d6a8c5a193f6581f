#include "cli/compare_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "headscope/base/error.h"
#include "headscope/io/csv.h"
#include "headscope/tree/tree_json.h"

namespace headscope::cli {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

// Mean and deviation over samples of a single figure; of a curve, of the mean of its components.
struct Summary {
  double mean = std::nan("");
  double deviation = std::nan("");
};

Summary summarize(const ComparedRun& run, const std::string& feature) {
  const auto found = std::ranges::find(run.features, feature, &FeatureSamples::name);
  Summary summary;
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

std::string text_of(const Summary& summary) {
  if (std::isnan(summary.mean)) return "-";
  if (std::isnan(summary.deviation)) return fmt::format("{:.3f}", summary.mean);
  return fmt::format("{:.3f} +- {:.3f}", summary.mean, summary.deviation);
}

std::vector<std::string> feature_names(const std::vector<ComparedSource>& sources) {
  std::vector<std::string> names;
  for (const ComparedSource& source : sources) {
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

std::string verdict_text(const PairCounts& found) {
  if (found.tested == 0) return "not tested: the spread over inputs is not known, capture several";
  if (found.differ > 0) return fmt::format("differ in {} of {} features", found.differ, found.tested);
  return fmt::format("no difference beyond the spread over inputs in {} features", found.tested);
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json sources_json(const std::vector<ComparedSource>& sources) {
  Json list = Json::array();
  for (const ComparedSource& source : sources) {
    list.push_back({{"name", source.run.name},
                    {"path", source.path},
                    {"kind", source.kind},
                    {"inputs", source.inputs},
                    {"heads", source.heads},
                    {"tokens", source.tokens}});
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
                       {"verdict", verdict_text(found)}});
    }
  }
  return pairs;
}

void add_table(RunFolder& run, const std::string& name, const std::string& about, const CsvTable& table) {
  run.add_text({.name = name, .kind = "table", .about = about, .shape = {table.rows(), table.columns()}}, table.text());
}

void add_features(RunFolder& run, const std::vector<ComparedSource>& sources) {
  CsvTable table({"run", "input", "feature", "x", "value"});
  for (const ComparedSource& source : sources) {
    for (const FeatureSamples& feature : source.run.features) {
      const bool of_weights = feature.samples.size() == 1 && source.inputs != 1;
      for (std::size_t i = 0; i < feature.samples.size(); ++i) {
        for (std::size_t k = 0; k < feature.samples[i].size(); ++k) {
          table.add_row(Cells{source.run.name, of_weights ? "" : std::to_string(i), feature.name,
                              feature.x.empty() ? "" : csv_number(feature.x[k]), csv_number(feature.samples[i][k])});
        }
      }
    }
  }
  add_table(run, "features.csv",
            "Every feature of every run on every input: figures, and curves by x (share of the coefficients, rank of "
            "the eigenvalue).",
            table);
}

void add_organizations(RunFolder& run, const std::vector<ComparedSource>& sources) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const ComparedAxis& axis : sources[i].axes) {
      const std::string name = fmt::format("compared/{}/{}", i, axis.name);
      const std::size_t n = axis.organized.tree.size();
      run.add_text({.name = name + ".json",
                    .kind = "tree",
                    .about = fmt::format("Run {}: the partition tree of the {} axis on the first input.", i, axis.name),
                    .shape = {n}},
                   to_json(axis.organized.tree, axis.elements));
      const auto values = axis.organized.affinity.values();
      run.add_array({.name = name + ".npy",
                     .kind = "array",
                     .about = fmt::format("Run {}: the affinity that tree was made from.", i),
                     .shape = {n, n},
                     .axes = {axis.name, axis.name}},
                    std::vector<float>(values.begin(), values.end()));
    }
  }
}

// Feature by feature for two runs: both means with their deviations, and the verdict.
void print_pair(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison) {
  const auto shown = [](const std::string& text) { return printable(text, 20); };
  out << fmt::format("\n  {:<18} {:>20} {:>20} {:>10} {:>9}  {}\n", "feature", shown(sources[0].run.name),
                     shown(sources[1].run.name), "/ spread", "p (Holm)", "");
  for (const FeatureDifference& one : comparison.differences) {
    const std::string ratio = one.spread > 0 ? fmt::format("{:.1f}", std::abs(one.difference) / one.spread) : "-";
    const std::string p = std::isnan(one.p_holm) ? "-" : fmt::format("{:.3f}", one.p_holm);
    out << fmt::format("  {:<18} {:>20} {:>20} {:>10} {:>9}  {}\n", one.feature,
                       text_of(summarize(sources[0].run, one.feature)), text_of(summarize(sources[1].run, one.feature)),
                       ratio, p, one.verdict == DifferenceVerdict::kDiffers ? "differs" : "");
  }
}

void print_means(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison) {
  out << fmt::format("\n  {:<18}", "feature");
  for (std::size_t i = 0; i < sources.size(); ++i) out << fmt::format(" {:>16}", fmt::format("[{}]", i));
  out << "  pairs that differ\n";
  for (const std::string& feature : feature_names(sources)) {
    out << fmt::format("  {:<18}", feature);
    for (const ComparedSource& source : sources) out << fmt::format(" {:>16}", text_of(summarize(source.run, feature)));
    const auto differ = std::ranges::count_if(comparison.differences, [&](const FeatureDifference& one) {
      return one.feature == feature && one.verdict == DifferenceVerdict::kDiffers;
    });
    out << fmt::format("  {}\n", differ);
  }
}

}  // namespace

void add_compare_files(RunFolder& run, const std::vector<ComparedSource>& sources, const Comparison& comparison) {
  CsvTable table({"a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p", "p_holm", "paired", "verdict"});
  for (const FeatureDifference& one : comparison.differences) {
    const ComparedRun& a = sources[one.a].run;
    const ComparedRun& b = sources[one.b].run;
    table.add_row(Cells{a.name, b.name, one.feature, csv_number(summarize(a, one.feature).mean),
                        csv_number(summarize(b, one.feature).mean), csv_number(one.difference), csv_number(one.spread),
                        csv_number(one.p), csv_number(one.p_holm), one.paired ? "yes" : "no",
                        std::string(to_string(one.verdict))});
  }
  add_table(run, "comparison.csv",
            "How every feature differs between every two runs, beside its spread over inputs; of curves the means are "
            "over their components and the difference is a root mean square.",
            table);
  add_features(run, sources);
  const std::vector<float> distances(comparison.distances.values().begin(), comparison.distances.values().end());
  run.add_array({.name = "distances.npy",
                 .kind = "array",
                 .about = "Distance between runs: root mean square over features of difference over deviation; names "
                          "are in compare.json.",
                 .shape = {sources.size(), sources.size()},
                 .axes = {"run", "run"}},
                distances);
  const Json names = {
      {"runs", sources_json(sources)}, {"features", feature_names(sources)}, {"pairs", pairs_json(comparison)}};
  run.add_text({.name = "compare.json",
                .kind = "names",
                .about = "The runs and features that were compared, in order, and the verdict on every two runs."},
               names.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  add_organizations(run, sources);
}

void print_compare_summary(std::ostream& out, const std::vector<ComparedSource>& sources,
                           const Comparison& comparison) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ComparedSource& source = sources[i];
    out << fmt::format("[{}] {:<20} {}", i, printable(source.run.name, 60), source.kind);
    if (source.inputs > 0) {
      out << fmt::format(", {} heads, {} input{} of {} tokens", source.heads, source.inputs,
                         source.inputs == 1 ? "" : "s", source.tokens);
    }
    out << '\n';
  }
  if (sources.size() == 2) {
    print_pair(out, sources, comparison);
  } else {
    print_means(out, sources, comparison);
  }
  out << "\ndistances\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    out << fmt::format("  {:<5}", fmt::format("[{}]", i));
    for (std::size_t j = 0; j < sources.size(); ++j) out << fmt::format(" {:>6.2f}", comparison.distances(i, j));
    out << '\n';
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t j = i + 1; j < sources.size(); ++j) {
      out << fmt::format("[{}] and [{}]: {}\n", i, j, verdict_text(counts(comparison, i, j)));
    }
  }
}

void print_compare_json(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison,
                        const std::vector<std::string>& files, double seconds) {
  Json differences = Json::array();
  for (const FeatureDifference& one : comparison.differences) {
    differences.push_back({{"a", one.a},
                           {"b", one.b},
                           {"feature", one.feature},
                           {"difference", number(one.difference)},
                           {"spread", number(one.spread)},
                           {"p", number(one.p)},
                           {"p_holm", number(one.p_holm)},
                           {"paired", one.paired},
                           {"verdict", to_string(one.verdict)}});
  }
  const Json root = {{"runs", sources_json(sources)},
                     {"distances", distances_json(comparison)},
                     {"pairs", pairs_json(comparison)},
                     {"differences", differences},
                     {"files", files},
                     {"seconds", seconds}};
  out << root.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace headscope::cli
