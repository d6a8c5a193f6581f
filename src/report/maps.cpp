#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "headscope/base/error.h"
#include "headscope/run/map_description.h"
#include "headscope/run/map_mask.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"
#include "report/kept_heads.h"
#include "report/page_data.h"
#include "report/pooled_map.h"
#include "report/token_blocks.h"

namespace headscope::report {
namespace {

/// The maps of one input of capture, at the top level or in inputs/N. With an encoder and a decoder, those of one
/// block.
struct Input {
  std::size_t number = 0;
  std::string prefix;  // "", "inputs/1/" or "cross/inputs/1/"
  std::vector<std::string> arrays;
  MapDescription about = {};
  Json tokens = {};                            // the whole description, for the page
  std::vector<std::size_t> groups = {};        // by key, see token_groups
  std::vector<std::size_t> query_groups = {};  // the same by token of the queries

  [[nodiscard]] std::size_t heads() const noexcept { return about.heads.size(); }
  [[nodiscard]] std::size_t first_query() const noexcept { return about.first_query.value_or(0); }
};

// The only block, then the named ones.
constexpr std::array<std::string_view, 4> kBlocks = {"", kBlockNames[0], kBlockNames[1], kBlockNames[2]};

std::vector<Input> find_inputs(const RunContents& run) {
  std::vector<Input> inputs;
  for (std::size_t number = 0;; ++number) {
    const std::size_t before = inputs.size();
    for (const std::string_view block : kBlocks) {
      Input input{number, block_folder(block) + input_folder(number), {}};
      for (const FileSchema* file : {&run_files::kPattern, &run_files::kScores}) {
        if (run.has(input.prefix + std::string(file->path))) input.arrays.emplace_back(file->path);
      }
      if (!input.arrays.empty()) inputs.push_back(std::move(input));
    }
    if (inputs.size() == before && number > 0) return inputs;
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
  input.groups = token_groups(input.tokens, "tokens");
  input.query_groups = token_groups(input.tokens, input.about.query_tokens.empty() ? "tokens" : "query_tokens");
}

std::size_t number_of_patches(const Json& tokens) {
  return static_cast<std::size_t>(
      std::ranges::count_if(tokens["tokens"], [](const Json& token) { return token.contains("row"); }));
}

// The input without its maps. Names are unique among the inputs of a block.
Json described(const Input& input) {
  Json entry = {{"name", input.about.name.empty() ? fmt::format("input {}", input.number) : input.about.name},
                {"number", input.number},
                {"folder", input.prefix}};
  if (!input.about.file.empty()) entry["file"] = input.about.file;
  if (input.about.kind == "image") entry["patches"] = number_of_patches(input.tokens);
  entry["tokens"] = input.tokens;
  return entry;
}

void check_shape(const RunContents& run, const Input& input, const std::string& name, const Shape& shape) {
  const std::string where = run.where(input.prefix + name);
  const std::size_t keys = input.about.tokens.size();
  const std::size_t rows = input.about.row_tokens().size();
  if (shape[0] != input.heads() || shape[2] != keys || input.first_query() >= rows ||
      shape[1] > rows - input.first_query()) {
    const std::string of = rows == keys ? "" : fmt::format(" of {}", rows);
    fail(where, fmt::format("is {}, expected [{} heads, queries from token {}{} on, {} tokens] to match tokens.json",
                            to_string(shape), input.heads(), input.first_query(), of, keys));
  }
}

std::vector<float> read_head(const NpyView& maps, std::size_t head, const std::string& where) {
  const std::size_t size = maps.shape[1] * maps.shape[2];
  const std::size_t bytes = size * maps.type.size;
  NpyView map{maps.type, false, {maps.shape[1], maps.shape[2]}, maps.bytes.subspan(head * bytes, bytes)};
  return npy_values<float>(map, where);
}

// Sets entries that the mask hides to NaN: they are no attention, not even attention of zero.
void hide_masked(std::vector<float>& map, std::size_t keys, const Input& input, std::size_t head) {
  const MapMask mask(input.about);
  if (mask.is_full()) return;
  const std::size_t layer = parse_head(input.about.heads[head])->layer;  // checked by `read_tokens`
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (!mask.sees(layer, i / keys + input.first_query(), i % keys)) map[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

// The folder of the input whose trees and tables a command wrote.
std::string main_input(const RunContents& run, const char* command) {
  const JsonValue circumstances = run.manifest().find("commands").find(command).find("circumstances");
  return block_folder(run.identity(command, "block").value_or("")) +
         std::string(circumstances.find(run_files::kMainInput).as_string().value_or(""));
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

/// A file of maps, and how to show it.
struct MapFile {
  const Input& input;
  std::string name;
  NpyFile file;
  std::vector<std::size_t> rows = {};  // in the order of `organize`; empty, like `columns`, if there is none
  std::vector<std::size_t> columns = {};
  std::size_t side = 1;                // maximum side of the blocks that are averaged
  std::vector<std::size_t> full = {};  // heads that also keep their maps as they are, if side > 1

  [[nodiscard]] const NpyView& maps() const noexcept { return file.array(); }
  [[nodiscard]] std::size_t queries() const noexcept { return maps().shape[1]; }
  [[nodiscard]] std::size_t keys() const noexcept { return maps().shape[2]; }
  [[nodiscard]] bool pattern() const noexcept { return name == run_files::kPattern.path; }
  [[nodiscard]] bool organized() const noexcept { return !rows.empty() && !columns.empty(); }
  [[nodiscard]] std::span<const std::size_t> query_groups() const noexcept {
    return std::span(input.query_groups).subspan(input.first_query(), queries());
  }
  // Bytes of all heads, averaged over blocks. Averages in one order cannot be computed from averages in another, so
  // there are two of them if there is an order.
  [[nodiscard]] std::size_t bytes(std::size_t blocks) const {
    std::size_t cells = block_count(query_groups(), blocks) * block_count(input.groups, blocks);
    if (blocks > 1 && organized()) cells += count(rows.size(), blocks) * count(columns.size(), blocks);
    return input.heads() * cells;
  }
  [[nodiscard]] static std::size_t count(std::size_t length, std::size_t blocks) { return (length - 1) / blocks + 1; }
  [[nodiscard]] std::size_t longest() const { return std::max(queries(), keys()); }
};

MapFile open_maps(const PageData& page, const Input& input, const std::string& name) {
  MapFile file{input, name, page.run.array(input.prefix + name, 3)};
  const Shape& shape = file.maps().shape;
  check_shape(page.run, input, name, shape);
  if (file.maps().fortran_order) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: is in Fortran order; save it in C order", page.run.where(input.prefix + name)));
  }
  if (input.prefix == main_input(page.run, "organize")) {
    file.rows = order_of(page, "query", shape[1]);
    file.columns = order_of(page, "key", shape[2]);
  }
  return file;
}

// Chooses blocks so that the maps fit the budget, in bytes. A quarter of it is for heads at full resolution.
void choose_blocks(MapFile& file, std::span<const std::string> kept, std::size_t budget) {
  if (file.bytes(1) <= budget) return;
  const std::size_t one = file.queries() * file.keys();
  const std::vector<std::string>& heads = file.input.about.heads;
  for (const std::string& name : kept) {
    const auto found = std::ranges::find(heads, name);
    if (found == heads.end()) continue;
    if ((file.full.size() + 1) * one > budget / 4) break;
    file.full.push_back(static_cast<std::size_t>(found - heads.begin()));
  }
  const std::size_t left = budget - file.full.size() * one;
  while (file.side < file.longest() && file.bytes(file.side) > left) file.side *= 2;
}

// Number of files, counted from the first input, whose maps fit the budget when they are averaged over the largest
// blocks. At least those of one input.
std::size_t fitting_files(std::span<const MapFile> files, std::size_t budget) {
  std::size_t kept = files.size();
  while (true) {
    const auto fits = [&](const MapFile& file) { return file.bytes(file.longest()) <= budget / kept; };
    if (std::ranges::all_of(files.first(kept), fits)) return kept;
    const std::size_t last = files[kept - 1].input.number;
    std::size_t fewer = kept;
    while (fewer > 0 && files[fewer - 1].input.number == last) --fewer;
    if (fewer == 0) return kept;
    kept = fewer;
  }
}

/// Where blocks begin.
struct BlockStarts {
  std::vector<std::size_t> queries;
  std::vector<std::size_t> keys;
};

BlockStarts starts_in_order_of_input(const MapFile& file) {
  return {block_starts(file.query_groups(), file.side), block_starts(file.input.groups, file.side)};
}

// Neighbors in the order of a tree are alike wherever they are in the input.
BlockStarts starts_in_order_of_trees(const MapFile& file) {
  return {uniform_starts(file.rows.size(), file.side), uniform_starts(file.columns.size(), file.side)};
}

/// All heads, averaged over blocks.
struct PooledHeads {
  std::vector<float> original;
  std::vector<float> organized;  // only if blocks are averaged
  std::vector<float> full;       // of `MapFile::full`
  Json summary = {{"entropy", Json::array()}, {"largest", Json::array()}, {"first", Json::array()}};
};

PooledHeads pool_heads(const MapFile& file, const std::string& where, const Context& context) {
  PooledHeads result;
  const std::size_t queries = file.queries();
  const std::size_t keys = file.keys();
  const BlockStarts original = starts_in_order_of_input(file);
  const BlockStarts organized = starts_in_order_of_trees(file);
  std::vector<std::vector<float>> full(file.full.size());
  for (std::size_t head = 0; head < file.input.heads(); ++head) {
    context.report(static_cast<double>(head) / static_cast<double>(file.input.heads()));
    std::vector<float> map = read_head(file.maps(), head, where);
    const MatrixView view(map.data(), queries, keys, keys);
    if (file.pattern()) {
      const PatternSummary one = summarize_pattern(view);
      result.summary["entropy"].push_back(one.entropy);
      result.summary["largest"].push_back(one.largest);
      result.summary["first"].push_back(one.first);
    }
    hide_masked(map, keys, file.input, head);
    const std::vector<float> pooled = pooled_map(view, original.queries, original.keys);
    result.original.insert(result.original.end(), pooled.begin(), pooled.end());
    if (file.side == 1) continue;
    if (file.organized()) {
      const std::vector<float> moved = pooled_map(view, organized.queries, organized.keys, file.rows, file.columns);
      result.organized.insert(result.organized.end(), moved.begin(), moved.end());
    }
    const auto kept = std::ranges::find(file.full, head);
    if (kept != file.full.end()) full[static_cast<std::size_t>(kept - file.full.begin())] = std::move(map);
  }
  for (const std::vector<float>& map : full) result.full.insert(result.full.end(), map.begin(), map.end());
  return result;
}

Json packed_maps(PageData& page, const MapFile& file, const PooledHeads& heads) {
  const std::size_t queries = file.queries();
  const std::size_t keys = file.keys();
  const int power = file.pattern() ? 2 : 1;
  const auto packed = [&](std::span<const float> values, const Shape& shape) {
    return page.add_quantized(values, shape, 8, power, /*by_slice=*/true);
  };
  BlockStarts starts = starts_in_order_of_input(file);
  Json entry = {{"side", file.side}, {"queries", queries}, {"keys", keys}};
  entry["maps"] = packed(heads.original, {file.input.heads(), starts.queries.size(), starts.keys.size()});
  if (file.organized()) {
    entry["rows"] = file.rows;
    entry["columns"] = file.columns;
  }
  if (file.side == 1) return entry;
  entry["starts"] = std::move(starts.queries);
  entry["key_starts"] = std::move(starts.keys);
  if (!heads.organized.empty()) {
    const BlockStarts moved = starts_in_order_of_trees(file);
    entry["organized"] = packed(heads.organized, {file.input.heads(), moved.queries.size(), moved.keys.size()});
  }
  if (!file.full.empty()) {
    entry["full"] = {{"heads", file.full}, {"maps", packed(heads.full, {file.full.size(), queries, keys})}};
  }
  return entry;
}

// Says of every file what was averaged. A folder of photographs has hundreds of files with the same sentence.
void note_blocks(PageData& page, std::span<const MapFile> files) {
  const auto sentence = [](const MapFile& file) {
    return file.side == 1
               ? std::string()
               : fmt::format(
                     "maps of {} x {} tokens are shown as means over at most {} x {} of them{}.", file.queries(),
                     file.keys(), file.side, file.side,
                     file.full.empty() ? "" : fmt::format("; {} heads are also kept as they are", file.full.size()));
  };
  const auto name = [](const MapFile& file) { return file.input.prefix + file.name; };
  for (std::size_t begin = 0, end = 0; begin < files.size(); begin = end) {
    const std::string said = sentence(files[begin]);
    for (end = begin + 1; end < files.size() && sentence(files[end]) == said;) ++end;
    if (said.empty()) continue;
    const std::size_t count = end - begin;
    std::string names = name(files[begin]);
    if (count == 2) names += fmt::format(" and {}", name(files[end - 1]));
    if (count > 2) names += fmt::format(" to {} ({} files)", name(files[end - 1]), count);
    page.notes.push_back(fmt::format("{}: {}", names, said));
  }
}

// Says which heads of --keep are averaged in some file after all, because their maps do not fit.
void note_asked_heads(PageData& page, std::span<const MapFile> files) {
  std::vector<std::string> missing;
  for (const HeadId id : page.options.keep) {
    const auto averaged = [name = to_string(id)](const MapFile& file) {
      const std::vector<std::string>& heads = file.input.about.heads;
      const auto found = std::ranges::find(heads, name);
      return file.side > 1 && found != heads.end() &&
             std::ranges::find(file.full, static_cast<std::size_t>(found - heads.begin())) == file.full.end();
    };
    if (std::ranges::any_of(files, averaged)) missing.push_back(to_string(id));
  }
  if (missing.empty()) return;
  page.notes.push_back(fmt::format("--keep: the maps of {} do not fit at full resolution (--max-data makes room).",
                                   fmt::join(missing, ", ")));
}

void check_asked_heads(const PageData& page, std::span<const Input> inputs) {
  for (const HeadId id : page.options.keep) {
    const std::string name = to_string(id);
    const auto has = [&](const Input& input) {
      return std::ranges::find(input.about.heads, name) != input.about.heads.end();
    };
    if (std::ranges::any_of(inputs, has)) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--keep: {} is not among the heads of the maps in {}", name, page.run.folder().string()));
  }
}

}  // namespace

void add_maps(PageData& page) {
  std::vector<Input> inputs = find_inputs(page.run);
  if (inputs.empty()) return;
  for (Input& input : inputs) read_tokens(page.run, input);
  check_asked_heads(page, inputs);
  std::vector<MapFile> files;
  for (const Input& input : inputs) {
    for (const std::string& name : input.arrays) files.push_back(open_maps(page, input, name));
  }
  const std::size_t fitting = fitting_files(files, page.options.bytes);
  const std::vector<std::string> kept = heads_to_keep(page.run, page.options.keep);
  const Context maps = page.context.part(kAffinityShare, 1);
  const auto share = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(fitting); };
  Json entries = Json::array();
  const Input* last = nullptr;
  for (std::size_t i = 0; i < fitting; ++i) {
    MapFile& file = files[i];
    choose_blocks(file, kept, page.options.bytes / fitting);
    if (&file.input != last) entries.push_back(described(file.input));
    last = &file.input;
    const std::string where = page.run.where(file.input.prefix + file.name);
    PooledHeads heads = pool_heads(file, where, maps.part(share(i), share(i + 1)));
    entries.back()[file.pattern() ? "pattern" : "scores"] = packed_maps(page, file, heads);
    if (file.pattern()) entries.back()["summary"] = std::move(heads.summary);
  }
  note_blocks(page, std::span(files).first(fitting));
  note_asked_heads(page, std::span(files).first(fitting));
  const std::size_t all = inputs.back().number + 1;
  const std::size_t shown = files[fitting - 1].input.number + 1;
  if (shown < all) {
    page.notes.push_back(fmt::format("The maps of {} of {} inputs are left out for their size (--max-data makes room).",
                                     all - shown, all));
  }
  for (const char* command : {"organize", "softmax"}) {
    if (page.run.manifest().find("commands").find(command).is_null()) continue;
    const std::string folder = main_input(page.run, command);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i]["folder"] == folder) page.root["main_input"][command] = i;
    }
  }
  page.root["inputs"] = std::move(entries);
  add_thumbnails(page);
}

}  // namespace headscope::report
