#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/relate/metric.h"
#include "headscope/relate/role_pair.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

struct AffinityFile {
  std::string name;
  std::string metric;
  RolePair pair;
  Shape shape;
};

// Parses "affinity/pk_OQ.npy"; empty for any other name.
std::optional<AffinityFile> parse_name(const std::string& name) {
  constexpr std::string_view kBegin = "affinity/";
  constexpr std::string_view kEnd = ".npy";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return std::nullopt;
  const std::string stem = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  const std::size_t bar = stem.rfind('_');
  if (bar == std::string::npos) return std::nullopt;
  const auto pair = parse_role_pair(std::string_view(stem).substr(bar + 1));
  if (!pair || !parse_metric(stem.substr(0, bar))) return std::nullopt;
  return AffinityFile{name, stem.substr(0, bar), *pair, {}};
}

/// Heads from heads.csv, in file order.
struct Heads {
  std::vector<HeadId> query;
  std::vector<HeadId> key_value;  // empty if every query head has its own
};

Heads read_heads(const RunContents& run) {
  if (!run.has("heads.csv")) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: lists affinities but not heads.csv, which names their rows",
                                                run.where("manifest.json")));
  }
  const CsvRows table = run.text_table("heads.csv");
  const std::size_t column = *table.find("head");
  Heads heads;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const HeadId id = *parse_head(table.cell(row, column));
    (id.key_value ? heads.key_value : heads.query).push_back(id);
  }
  return heads;
}

bool is_key_value(const Heads& heads, const AffinityFile& file, Role role) {
  return (role == Role::kK || role == Role::kV) && !heads.key_value.empty() && file.metric != "cs";
}

const std::vector<HeadId>& heads_of(const Heads& heads, const AffinityFile& file, Role role) {
  return is_key_value(heads, file, role) ? heads.key_value : heads.query;
}

void check_shape(const RunContents& run, const Heads& heads, const AffinityFile& file) {
  const Shape expected = {heads_of(heads, file, file.pair.source).size(),
                          heads_of(heads, file, file.pair.target).size()};
  if (file.shape != expected) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: is {}, expected {} to match the heads in heads.csv",
                                                run.where(file.name), to_string(file.shape), to_string(expected)));
  }
}

struct Gaussian {
  double mean = 0;
  double deviation = 0;
};

// What random subspaces would give, for pairs listed in informativeness.csv.
std::optional<Gaussian> random_of(const RunContents& run, const AffinityFile& file) {
  if (file.metric != "pk" || !run.has("informativeness.csv")) return std::nullopt;
  const CsvRows table = run.text_table("informativeness.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, *table.find("pair")) != to_string(file.pair)) continue;
    const double mean = std::strtod(std::string(table.cell(row, *table.find("random_mean"))).c_str(), nullptr);
    const double deviation = std::strtod(std::string(table.cell(row, *table.find("random_sd"))).c_str(), nullptr);
    if (std::isfinite(mean) && std::isfinite(deviation) && deviation > 0) return Gaussian{mean, deviation};
  }
  return std::nullopt;
}

// Histogram of the affinities from earlier to later layers; the bins also cover the range of random ones.
Json histogram(std::span<const float> values, RolePair pair, const std::vector<HeadId>& sources,
               const std::vector<HeadId>& targets, const std::optional<Gaussian>& random) {
  std::vector<double> observed;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t j = 0; j < targets.size(); ++j) {
      const float value = values[i * targets.size() + j];
      if (precedes(sources[i], pair.source, targets[j], pair.target) && std::isfinite(value)) observed.push_back(value);
    }
  }
  if (observed.empty()) return nullptr;
  auto [low, high] = std::ranges::minmax(observed);
  if (random) {
    low = std::min(low, random->mean - 4 * random->deviation);
    high = std::max(high, random->mean + 4 * random->deviation);
  }
  // Proportional to the square root of the counts, within what a figure can show.
  const auto bins =
      static_cast<std::size_t>(std::clamp(2 * std::sqrt(static_cast<double>(observed.size())), 16.0, 96.0));
  const double width = high > low ? (high - low) / static_cast<double>(bins) : 1;
  std::vector<std::size_t> counts(bins);
  for (const double value : observed) ++counts[std::min(static_cast<std::size_t>((value - low) / width), bins - 1)];
  Json result = {{"low", low}, {"width", width}, {"counts", counts}};
  if (random) result["random"] = {{"mean", random->mean}, {"sd", random->deviation}};
  return result;
}

// Circuit pairs first, so that they are kept if not all fit.
std::vector<AffinityFile> find_files(const RunContents& run) {
  std::vector<AffinityFile> files;
  for (const std::string& name : run.names()) {
    if (auto file = parse_name(name)) {
      file->shape = run.array(name, 2).array().shape;
      files.push_back(std::move(*file));
    }
  }
  const std::string first_metric = files.empty() ? "" : files.front().metric;
  const auto place = [&](const AffinityFile& file) {
    const bool circuit = file.pair.source == Role::kO && file.pair.target != Role::kO;
    return (file.metric == first_metric ? 0 : 2) + (circuit ? 0 : 1);
  };
  std::ranges::stable_sort(files, {}, place);
  return files;
}

}  // namespace

void add_affinities(PageData& page) {
  const std::vector<AffinityFile> files = find_files(page.run);
  if (files.empty()) return;
  const Heads heads = read_heads(page.run);
  std::size_t total = 0;
  for (const AffinityFile& file : files) total += file.shape[0] * file.shape[1];
  const int bits = total * 2 <= page.options.bytes ? 16 : 8;
  std::size_t used = 0;
  std::size_t left_out = 0;
  Json affinities = Json::array();
  for (const AffinityFile& file : files) {
    page.context.report(kAffinityShare * static_cast<double>(affinities.size()) / static_cast<double>(files.size()));
    check_shape(page.run, heads, file);
    const NpyFile array = page.run.array(file.name, 2);
    const std::vector<float> values = npy_values<float>(array.array(), page.run.where(file.name));
    Json entry = {{"metric", file.metric},
                  {"pair", to_string(file.pair)},
                  {"rows", is_key_value(heads, file, file.pair.source) ? "kv" : "query"},
                  {"columns", is_key_value(heads, file, file.pair.target) ? "kv" : "query"},
                  {"histogram", histogram(values, file.pair, heads_of(heads, file, file.pair.source),
                                          heads_of(heads, file, file.pair.target), random_of(page.run, file))}};
    const std::size_t bytes = values.size() * static_cast<std::size_t>(bits / 8);
    if (used + bytes <= page.options.bytes) {
      used += bytes;
      entry["array"] = page.add_quantized(values, file.shape, bits);
    } else {
      ++left_out;
    }
    affinities.push_back(std::move(entry));
  }
  if (left_out > 0) {
    page.notes.push_back(
        fmt::format("{} of {} affinity matrices are left out of this page for its size; they are in "
                    "the folder of the run.",
                    left_out, files.size()));
  }
  page.root["affinities"] = std::move(affinities);
}

}  // namespace headscope::report
