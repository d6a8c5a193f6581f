#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headscope/base/error.h"
#include "headscope/tree/tree_json.h"
#include "report/page_data.h"
#include "report/pooled_map.h"

namespace headscope::report {
namespace {

constexpr const char* kNames = "compare.json";
constexpr const char* kDistances = "distances.npy";
constexpr std::size_t kMaxRuns = 256;
constexpr std::size_t kMaxPictures = 16;     // maximum number of runs whose trees and matrices are shown
constexpr std::size_t kMaxSideLength = 256;  // maximum side of a matrix

Json packed_runs(JsonValue runs, const std::string& where) {
  Json list = Json::array();
  std::set<std::string_view> seen;
  for (const JsonValue run : runs.items()) {
    const auto name = run.find("name").as_string();
    if (!name) throw Error(ErrorKind::kFormat, fmt::format("{}: run {} has no name", where, list.size()));
    if (!seen.insert(*name).second)
      throw Error(ErrorKind::kFormat, fmt::format("{}: duplicate name '{}'", where, printable(*name)));
    list.push_back({{"name", *name},
                    {"kind", run.find("kind").as_string().value_or("")},
                    {"inputs", run.find("inputs").as_unsigned().value_or(0)},
                    {"heads", run.find("heads").as_unsigned().value_or(0)},
                    {"tokens", run.find("tokens").as_string().value_or("")}});
  }
  if (list.size() < 2 || list.size() > kMaxRuns) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: names {} runs, expected 2 to {}", where, list.size(), kMaxRuns));
  }
  return list;
}

Json packed_pairs(JsonValue pairs, std::size_t runs, const std::string& where) {
  Json list = Json::array();
  for (const JsonValue pair : pairs.items()) {
    const auto a = pair.find("a").as_unsigned();
    const auto b = pair.find("b").as_unsigned();
    if (!a || !b || *a >= runs || *b >= runs)
      throw Error(ErrorKind::kFormat, fmt::format("{}: pair {} does not refer to two runs", where, list.size()));
    list.push_back({{"a", *a},
                    {"b", *b},
                    {"differ", pair.find("differ").as_unsigned().value_or(0)},
                    {"tested", pair.find("tested").as_unsigned().value_or(0)},
                    {"verdict", pair.find("verdict").as_string().value_or("")}});
  }
  return list;
}

Json packed_distances(const PageData& page, std::size_t runs) {
  const NpyFile file = page.run.array(kDistances, 2);
  if (file.array().shape != Shape{runs, runs}) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}, expected {} to match the runs in {}", page.run.where(kDistances),
                            to_string(file.array().shape), to_string(Shape{runs, runs}), kNames));
  }
  Json values = Json::array();
  for (const float value : npy_values<float>(file.array(), page.run.where(kDistances)))
    values.push_back(std::isfinite(value) ? Json(value) : Json(nullptr));
  return values;
}

// The tree of an axis and its affinities in leaf order, averaged over blocks if there are many.
Json packed_axis(PageData& page, const std::string& name) {
  const JsonDocument document = page.run.json(name + ".json");
  const PartitionTree tree = tree_from_json(document.root(), page.run.where(name + ".json"));
  const NpyFile file = page.run.array(name + ".npy", 2);
  const std::size_t n = tree.size();
  if (file.array().shape != Shape{n, n}) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: is {}, expected {} to match the elements of its tree", page.run.where(name + ".npy"),
                            to_string(file.array().shape), to_string(Shape{n, n})));
  }
  const std::vector<float> values = npy_values<float>(file.array(), page.run.where(name + ".npy"));
  const std::vector<std::size_t> order(tree.order().begin(), tree.order().end());
  const std::size_t side = (n + kMaxSideLength - 1) / kMaxSideLength;
  const std::vector<std::size_t> starts = uniform_starts(n, side);
  Json entry = {{"side", side}, {"tree", packed_tree(tree, document.root().find("names"))}};
  const std::vector<float> pooled = pooled_map({values.data(), n, n, n}, starts, starts, order, order);
  entry["array"] = page.add_quantized(pooled, {starts.size(), starts.size()}, 8);
  return entry;
}

Json packed_axes(PageData& page, std::size_t runs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(runs, kMaxPictures); ++i) {
    for (const std::string axis : {"head", "query", "key"}) {
      const std::string name = fmt::format("compared/{}/{}", i, axis);
      if (!page.run.has(name + ".json") || !page.run.has(name + ".npy")) continue;
      Json entry = packed_axis(page, name);
      entry["run"] = i;
      entry["axis"] = axis;
      list.push_back(std::move(entry));
    }
  }
  if (runs > kMaxPictures)
    page.notes.push_back(fmt::format("Trees and matrices are shown of {} of {} runs.", kMaxPictures, runs));
  return list;
}

}  // namespace

void add_comparison(PageData& page) {
  if (!page.run.has(kNames) || !page.run.has(kDistances)) return;
  const JsonDocument document = page.run.json(kNames);
  const std::string where = page.run.where(kNames);
  Json runs = packed_runs(document.root().find("runs"), where);
  const std::size_t count = runs.size();
  Json entry = {{"runs", std::move(runs)},
                {"pairs", packed_pairs(document.root().find("pairs"), count, where)},
                {"distances", packed_distances(page, count)}};
  entry["axes"] = packed_axes(page, count);
  page.root["comparison"] = std::move(entry);
}

}  // namespace headscope::report
