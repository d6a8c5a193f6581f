#include <fmt/format.h>

#include <functional>
#include <limits>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/run/map_description.h"
#include "headscope/run/schema.h"
#include "report/page_data.h"
#include "report/pooled_map.h"

namespace headscope::report {
namespace {

/// One input of capture: at the top level, or in inputs/N.
struct Input {
  std::string prefix;  // "" or "inputs/1/"
  std::vector<std::string> arrays;
  MapDescription about = {};
  Json tokens = {};  // the whole description, for the page

  [[nodiscard]] std::size_t heads() const noexcept { return about.heads.size(); }
  [[nodiscard]] std::size_t first_query() const noexcept { return about.first_query.value_or(0); }
};

std::vector<Input> find_inputs(const RunContents& run) {
  std::vector<Input> inputs;
  for (std::size_t number = 0;; ++number) {
    Input input{input_folder(number), {}};
    for (const FileSchema* file : {&run_files::kPattern, &run_files::kScores}) {
      if (run.has(input.prefix + std::string(file->path))) input.arrays.emplace_back(file->path);
    }
    if (!input.arrays.empty()) inputs.push_back(std::move(input));
    if (inputs.size() <= number && number > 0) return inputs;
  }
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
}

void read_tokens(const RunContents& run, Input& input) {
  const std::string name = input.prefix + std::string(run_files::kTokens.path);
  if (!run.has(name)) fail(run.where(input.prefix + input.arrays.front()), "there is no tokens.json beside it");
  const std::string where = run.where(name);
  const JsonDocument document = run.json(name);
  input.about = parse_map_description(document.root(), where);
  for (const std::string& head : input.about.heads) {
    if (!parse_head(head)) fail(where, "'heads' are not names such as L4H7");
  }
  if (input.about.heads.empty() || input.about.tokens.empty()) fail(where, "expected lists 'heads' and 'tokens'");
  input.tokens = as_json(document.root());
}

void check_shape(const RunContents& run, const Input& input, const std::string& name, const Shape& shape) {
  const std::string where = run.where(input.prefix + name);
  const std::size_t tokens = input.about.tokens.size();
  if (shape[0] != input.heads() || shape[2] != tokens || input.first_query() >= tokens ||
      shape[1] > tokens - input.first_query()) {
    fail(where, fmt::format("is {}, expected [{} heads, queries from token {} on, {} tokens] to match tokens.json",
                            to_string(shape), input.heads(), input.first_query(), tokens));
  }
}

// Reads the map of one head; entries hidden by a causal mask are NaN, except in patterns, where they are 0.
std::vector<float> read_head(const NpyView& maps, std::size_t head, const std::string& where) {
  const std::size_t size = maps.shape[1] * maps.shape[2];
  const std::size_t bytes = size * maps.type.size;
  NpyView map{maps.type, false, {maps.shape[1], maps.shape[2]}, maps.bytes.subspan(head * bytes, bytes)};
  return npy_values<float>(map, where);
}

void hide_future(std::vector<float>& map, std::size_t keys, std::size_t first_query) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (i % keys > i / keys + first_query) map[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

// The same for folders of schema version 1, whose identity has the selection of the maps as one text.
bool leaves_out_first_alone_in_version_1(const RunContents& run) {
  const auto maps = run.identity("organize", "maps");
  return maps && maps->ends_with("queries  keys ");
}

// Returns whether `organize` left out only leading tokens, or nothing: its orders then count from the first token that
// was kept. If it selected ranges, there is no way to tell which rows are meant.
bool leaves_out_first_alone(const RunContents& run) {
  const auto queries = run.identity("organize", "queries");
  const auto keys = run.identity("organize", "keys");
  if (!queries || !keys) return leaves_out_first_alone_in_version_1(run);
  return queries->empty() && keys->empty();
}

// Rows or columns of a map of this size in the order found by `organize`; empty if there is none for it.
std::vector<std::size_t> order_of(const PageData& page, const char* axis, std::size_t size) {
  if (!page.root.contains("axes") || !page.root["axes"].contains(axis)) return {};
  const Json& entry = page.root["axes"][axis];
  if (!entry.contains("order")) return {};
  auto order = entry["order"].get<std::vector<std::size_t>>();
  if (order.size() > size || (order.size() < size && !leaves_out_first_alone(page.run))) return {};
  for (std::size_t& element : order) element += size - order.size();
  return order;
}

// Smallest power of two for which maps averaged over blocks of that side fit the budget, in bytes.
std::size_t block_side(const Shape& shape, std::size_t budget) {
  std::size_t side = 1;
  const auto blocks = [&](std::size_t n) { return (n + side - 1) / side; };
  while (side < std::max(shape[1], shape[2]) && shape[0] * blocks(shape[1]) * blocks(shape[2]) > budget) side *= 2;
  return side;
}

/// A file of maps, and how to show it.
struct MapFile {
  const Input& input;
  std::string name;
  NpyFile file;
  std::vector<std::size_t> rows;  // in the order of `organize`; empty, like `columns`, if there is none
  std::vector<std::size_t> columns;
  std::size_t side = 1;  // side of the blocks that are averaged

  [[nodiscard]] const NpyView& maps() const noexcept { return file.array(); }
  [[nodiscard]] bool pattern() const noexcept { return name == run_files::kPattern.path; }
  [[nodiscard]] bool organized() const noexcept { return !rows.empty() && !columns.empty(); }
  [[nodiscard]] Shape pooled_shape(std::size_t height, std::size_t width) const {
    return {input.heads(), (height + side - 1) / side, (width + side - 1) / side};
  }
};

MapFile open_maps(const PageData& page, const Input& input, const std::string& name, std::size_t budget) {
  MapFile file{input, name, page.run.array(input.prefix + name, 3), {}, {}};
  const Shape& shape = file.maps().shape;
  check_shape(page.run, input, name, shape);
  if (file.maps().fortran_order) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: is in Fortran order; save it in C order", page.run.where(input.prefix + name)));
  }
  if (input.prefix.empty()) {  // the maps that organize used
    file.rows = order_of(page, "query", shape[1]);
    file.columns = order_of(page, "key", shape[2]);
  }
  file.side = block_side(shape, budget);
  // Averages in one order cannot be computed from averages in another, so both must fit.
  if (file.side > 1 && file.organized()) file.side = block_side(shape, budget / 2);
  return file;
}

/// All heads, averaged over blocks.
struct PooledHeads {
  std::vector<float> original;
  std::vector<float> organized;  // only if blocks are averaged
  Json summary = {{"entropy", Json::array()}, {"largest", Json::array()}, {"first", Json::array()}};
};

PooledHeads pool_heads(const MapFile& file, const std::string& where, const Context& context) {
  PooledHeads result;
  const std::size_t queries = file.maps().shape[1];
  const std::size_t keys = file.maps().shape[2];
  for (std::size_t head = 0; head < file.input.heads(); ++head) {
    context.report(static_cast<double>(head) / static_cast<double>(file.input.heads()));
    std::vector<float> map = read_head(file.maps(), head, where);
    const MatrixView view(map.data(), queries, keys, keys);
    if (file.pattern()) {
      const PatternSummary one = summarize_pattern(view);
      result.summary["entropy"].push_back(one.entropy);
      result.summary["largest"].push_back(one.largest);
      result.summary["first"].push_back(one.first);
    } else if (file.input.about.causal) {
      hide_future(map, keys, file.input.first_query());
    }
    const std::vector<float> pooled = pooled_map(view, file.side);
    result.original.insert(result.original.end(), pooled.begin(), pooled.end());
    if (file.side == 1 || !file.organized()) continue;
    const std::vector<float> moved = pooled_map(view, file.side, file.rows, file.columns);
    result.organized.insert(result.organized.end(), moved.begin(), moved.end());
  }
  return result;
}

Json packed_maps(PageData& page, const MapFile& file, const PooledHeads& heads) {
  const std::size_t queries = file.maps().shape[1];
  const std::size_t keys = file.maps().shape[2];
  const int power = file.pattern() ? 2 : 1;
  Json entry = {{"side", file.side}, {"queries", queries}, {"keys", keys}};
  entry["maps"] = page.add_quantized(heads.original, file.pooled_shape(queries, keys), 8, power, /*by_slice=*/true);
  if (file.organized()) {
    entry["rows"] = file.rows;
    entry["columns"] = file.columns;
  }
  if (!heads.organized.empty()) {
    const Shape shape = file.pooled_shape(file.rows.size(), file.columns.size());
    entry["organized"] = page.add_quantized(heads.organized, shape, 8, power, /*by_slice=*/true);
  }
  if (file.side > 1) {
    page.notes.push_back(fmt::format("{}{}: maps of {} x {} tokens are shown as means over {} x {} of them.",
                                     file.input.prefix, file.name, queries, keys, file.side, file.side));
  }
  return entry;
}

}  // namespace

void add_maps(PageData& page) {
  std::vector<Input> inputs = find_inputs(page.run);
  if (inputs.empty()) return;
  std::size_t arrays = 0;
  for (const Input& input : inputs) arrays += input.arrays.size();
  const Context maps = page.context.part(kAffinityShare, 1);
  std::size_t done = 0;
  Json entries = Json::array();
  for (Input& input : inputs) {
    read_tokens(page.run, input);
    Json entry = {
        {"name", input.prefix.empty() ? "input 0" : "input " + input.prefix.substr(7, input.prefix.size() - 8)},
        {"tokens", input.tokens}};
    for (const std::string& name : input.arrays) {
      const MapFile file = open_maps(page, input, name, page.options.bytes / arrays);
      const auto share = [&](std::size_t files) { return static_cast<double>(files) / static_cast<double>(arrays); };
      PooledHeads heads =
          pool_heads(file, page.run.where(input.prefix + name), maps.part(share(done), share(done + 1)));
      entry[file.pattern() ? "pattern" : "scores"] = packed_maps(page, file, heads);
      if (file.pattern()) entry["summary"] = std::move(heads.summary);
      ++done;
    }
    entries.push_back(std::move(entry));
  }
  page.root["inputs"] = std::move(entries);
}

}  // namespace headscope::report
