#include "app/map_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "app/map_array.h"
#include "app/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/base/memory.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/folder.h"
#include "headscope/io/json.h"
#include "headscope/io/recognize.h"
#include "headscope/model/head_id.h"
#include "headscope/organize/distance_memory.h"
#include "headscope/run/map_mask.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNoLayer = std::numeric_limits<std::size_t>::max();
constexpr std::array<std::string_view, 6> kTowerFolders = {"text", "vision", "stage1", "stage2", "stage3", "stage4"};

// The mask of each head, [head, query, key], computed when it is read.
ArraySource layer_mask(const MapDescription& maps, const Shape& shape) {
  std::vector<std::size_t> layers;  // by head
  for (const std::string& head : maps.heads) {
    const auto id = parse_head(head);
    layers.push_back(id ? id->layer : kNoLayer);
  }
  const auto read = [layers, shape, mask = MapMask(maps), offset = maps.first_query.value_or(0)](std::size_t first,
                                                                                                 std::span<float> out) {
    for (std::size_t i = 0; i < out.size();) {  // row by row
      const std::size_t row = (first + i) / shape[2];
      const std::size_t head = row / shape[1];
      const std::size_t layer = head < layers.size() ? layers[head] : kNoLayer;
      const std::size_t query = row % shape[1] + offset;
      for (std::size_t key = (first + i) % shape[2]; key < shape[2] && i < out.size(); ++key) {
        out[i++] = mask.sees(layer, query, key) ? 1.0F : 0.0F;
      }
    }
  };
  return {shape, read};
}

// Returns which of these heads are selected. An index counts within the layer if the names tell the layer.
std::vector<std::size_t> selected_maps(const HeadSelection& selection, const std::vector<std::string>& names) {
  const bool by_layer = !selection.layers.empty() || std::ranges::any_of(selection.heads, [](const HeadPick& pick) {
    return pick.layer.has_value();
  });
  std::vector<std::size_t> selected;
  for (std::size_t h = 0; h < names.size(); ++h) {
    const auto id = parse_head(names[h]);
    if (!id && by_layer) {
      throw Error(ErrorKind::kInvalidArgument,
                  "--layers, --heads: the source does not say which layer a head belongs to; use --axes lhqk, or "
                  "indices of heads");
    }
    const bool of_layers =
        selection.layers.empty() || std::ranges::find(selection.layers, id->layer) != selection.layers.end();
    const bool of_heads = selection.heads.empty() || std::ranges::any_of(selection.heads, [&](const HeadPick& pick) {
                            return pick.layer ? pick.head_id() == *id : pick.head == (id ? id->head : h);
                          });
    if (of_layers && of_heads) selected.push_back(h);
  }
  if (selected.empty()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--layers, --heads: none of the {} heads is left", names.size()));
  }
  return selected;
}

// Names of all heads of an array.
std::vector<std::string> head_names(const std::string& axes, const Shape& shape, const MapDescription& maps) {
  if (!maps.heads.empty()) return maps.heads;
  std::vector<std::string> names;
  if (element_count(shape) == 0) return names;  // its other extents may be anything
  const bool layered = axes == "lhqk" && shape.size() == 4;
  const std::size_t heads = layered                              ? shape[0] * shape[1]
                            : axes == "hqk" && shape.size() == 3 ? shape[0]
                            : axes == "qkh" && shape.size() == 3 ? shape[2]
                                                                 : 1;
  for (std::size_t h = 0; h < heads; ++h) {
    names.push_back(layered ? fmt::format("L{}H{}", h / shape[1], h % shape[1]) : fmt::format("H{}", h));
  }
  return names;
}

std::vector<std::string> position_names(const std::vector<std::size_t>& positions, std::size_t offset,
                                        const std::vector<std::string>& tokens) {
  std::vector<std::string> names;
  for (const std::size_t position : positions) {
    const std::size_t at = position + offset;
    names.push_back(at < tokens.size() ? tokens[at] : std::to_string(at));
  }
  return names;
}

// Makes layers and heads one axis; the names of the heads tell the layer.
void flatten_layers(NetworkTensorOptions& options, ArraySource& array) {
  if (options.axes != "lhqk" || array.shape().size() != 4) return;
  const Shape shape = array.shape();
  const Shape flat = {shape[0] * shape[1], shape[2], shape[3]};
  if (options.mask.array && options.mask.array->shape() == shape) {
    options.mask.array = options.mask.array->reshaped(flat);
  }
  array = array.reshaped(flat);
  options.axes = "hqk";
}

// Returns the array of a mask; nothing if it has none.
std::optional<ArrayInput> mask_array(const MapSelection& selection) {
  const ArrayInput& given = selection.mask_array;
  if (given.values || !given.file.empty()) return given;
  const std::string& word = selection.mask;
  if (word.empty() || word == "none" || word == "causal" || word == "zeros") return std::nullopt;
  if (fs::path(word).extension() == ".npy") return ArrayInput{.file = word};
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("--mask: unknown mask '{}'; expected one of none, causal, zeros, or an .npy file", printable(word)));
}

// Returns the mask that the options or the source ask for. `fingerprint` becomes that of its array, if it has one.
MaskChoice choose_mask(const MapSelection& selection, const MapDescription& maps, const ArraySource& array,
                       const Context& context, std::string& fingerprint) {
  MaskChoice choice;
  if (const auto given = mask_array(selection)) {
    choice.array = open_map_array(*given, "mask", "", context).values;
    choice.kind = MaskChoice::Kind::kExplicit;
    fingerprint = fingerprint_of(*choice.array);
  } else if (selection.mask.empty() && MapMask(maps).has_windows() && array.shape().size() == 3) {
    choice.array = layer_mask(maps, array.shape());
    choice.kind = MaskChoice::Kind::kExplicit;
  } else if (selection.mask == "causal" || (selection.mask.empty() && maps.causal)) {
    choice.kind = MaskChoice::Kind::kCausal;
    choice.first_query = maps.first_query;
  } else if (selection.mask == "zeros") {
    choice.kind = MaskChoice::Kind::kZeros;
  }
  return choice;
}

std::optional<std::pair<std::size_t, std::size_t>> as_pair(const std::optional<IndexRange>& range) {
  if (!range) return std::nullopt;
  return std::pair(range->begin, range->end);
}

// Maps, and everything about them that is known before their values are read.
struct OpenedMaps {
  MapArray array;
  MapDescription about;
  NetworkTensorOptions options;
  std::vector<std::string> head_names;  // of the selected heads
  ArraySource whole;                    // the array as it was opened
  std::string fingerprint = {};         // of `whole`
  std::string mask_fingerprint = {};
};

// The extent along an axis before anything is selected from it.
std::size_t extent(const OpenedMaps& maps, char axis) {
  const std::size_t place = maps.options.axes.find(axis);
  const Shape& shape = maps.array.values.shape();
  return place < shape.size() ? shape[place] : 1;
}

// Everything that the command takes for the maps, for the heads of the rank that has the most of them.
void check_size(const OpenedMaps& maps, const MapUse& use, const Context& context) {
  const std::size_t ranks = context.ranks.get().size();
  const std::size_t all = std::max<std::size_t>(1, maps.options.head_names.size());
  const std::size_t held = std::max<std::size_t>(1, (maps.head_names.size() + ranks - 1) / ranks);
  const std::size_t entries = maps.whole.size() / all;
  const std::size_t values = saturating_multiply(saturating_multiply(held, entries), kEntryBytes);
  const std::size_t queries = extent(maps, 'q');
  const std::size_t keys = extent(maps, 'k');
  std::size_t bytes = saturating_multiply(values, use.copies);
  bytes = saturating_add(bytes, saturating_multiply(entries, use.per_entry));
  bytes = saturating_add(bytes, pair_memory({maps.head_names.size(), queries, keys}));
  bytes = saturating_add(bytes, distance_memory({use.one_by_one ? 1 : held, queries, keys},
                                                maps.options.mask.kind != MaskChoice::Kind::kNone));
  require_memory(context, bytes,
                 fmt::format("{}: analyzing {} of the {} heads of an array of {}", maps.array.where, held, all,
                             to_string(maps.whole.shape())));
}

// The array of a folder of captured maps is in a file of it.
MapArray array_of(const MapSelection& selection, const std::optional<Folder>& folder, const Context& context) {
  if (!folder) return open_map_array(selection.source, "array", selection.array, context);
  const std::string name(map_file(selection.what));
  if (!folder->has(name) && folder->has(block_folder(kBlockNames.front()) + name)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: has the maps of three blocks; choose one with --block {}", folder->path().string(),
                            fmt::join(kBlockNames, ", --block ")));
  }
  if (!folder->has(name)) {
    for (const std::string_view tower : kTowerFolders) {
      if (!folder->has(fmt::format("{}/{}", tower, name))) continue;
      throw Error(ErrorKind::kIo, fmt::format("{}: has no {}, but there is one of a tower: give {}",
                                              folder->path().string(), name, (folder->path() / tower).string()));
    }
    if (const std::string model = recognize_model(folder->path()); !model.empty()) {
      throw Error(ErrorKind::kIo, fmt::format("{}: {}", folder->path().string(), model));
    }
    throw Error(ErrorKind::kIo, fmt::format("{}: has no {}; 'headscope capture' writes maps, or name a file of them",
                                            folder->path().string(), name));
  }
  return open_npy_array(folder->map(name), context);
}

MapDescription description_of(const MapSelection& selection, const std::optional<Folder>& folder) {
  const std::string name(run_files::kTokens.path);
  if (folder && folder->has(name)) {
    const MappedFile file = folder->map(name);
    const std::string where = file.path().string();
    const JsonDocument document = JsonDocument::parse(as_text(file.bytes()), where);
    return parse_map_description(document.root(), where);
  }
  if (folder || selection.description.empty()) return {};
  const JsonDocument document = JsonDocument::parse(selection.description, name);
  return parse_map_description(document.root(), name);
}

OpenedMaps open_maps(const MapSelection& selection, const Context& context) {
  std::error_code ignored;
  const fs::path& path = selection.source.file;
  const bool in_memory = selection.source.values.has_value();
  if (!in_memory && !fs::exists(path, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such file or folder", path.string()));
  }
  std::optional<Folder> folder;
  if (!in_memory && fs::is_directory(path, ignored)) folder.emplace(Folder::open(path));
  const MapArray array = array_of(selection, folder, context);
  OpenedMaps maps{array, description_of(selection, folder), {}, {}, array.values};

  NetworkTensorOptions& options = maps.options;
  options.axes = folder ? "hqk" : selection.axes;
  options.kind = selection.what;
  options.skip_first = selection.skip_first;
  options.head_names = head_names(options.axes, maps.array.values.shape(), maps.about);
  maps.head_names = options.head_names;
  if (!selection.selection.empty()) {
    options.heads = selected_maps(selection.selection, options.head_names);
    maps.head_names.clear();
    for (const std::size_t h : options.heads) maps.head_names.push_back(options.head_names[h]);
  }
  options.queries = as_pair(selection.queries);
  options.keys = as_pair(selection.keys);
  options.mask = choose_mask(selection, maps.about, maps.array.values, context, maps.mask_fingerprint);
  flatten_layers(options, maps.array.values);
  return maps;
}

// The fraction of the entries of all heads that are absent.
double fraction_absent(const NetworkTensor& tensor, std::size_t heads, Ranks& ranks) {
  if (!tensor.masked()) return 0;
  std::int64_t absent = std::ranges::count(tensor.present, 0);
  if (!tensor.mask_per_head) return static_cast<double>(absent) / static_cast<double>(tensor.map_size());
  ranks.all_reduce_sum(std::span(&absent, 1));
  return static_cast<double>(absent) / static_cast<double>(heads * tensor.map_size());
}

}  // namespace

std::string_view map_file(MapKind what) noexcept {
  return what == MapKind::kScores ? run_files::kScores.path : run_files::kPattern.path;
}

std::size_t pair_memory(const std::array<std::size_t, 3>& extents) noexcept {
  // Affinities of two organizations and a matrix of distances per axis, and a tree being built from one of them.
  constexpr std::size_t kKept = 24;
  constexpr std::size_t kTree = 32;
  std::size_t bytes = 0;
  std::size_t largest = 0;
  for (const std::size_t extent : extents) {
    const std::size_t pairs = saturating_multiply(extent, extent);
    bytes = saturating_add(bytes, saturating_multiply(pairs, kKept));
    largest = std::max(largest, pairs);
  }
  return saturating_add(bytes, saturating_multiply(largest, kTree));
}

MapSource load_maps(const MapSelection& selection, bool keep_absent, const MapUse& use, const Context& context) {
  Ranks& ranks = context.ranks;
  OpenedMaps maps = ranks.run_and_agree([&] {
    OpenedMaps opened = open_maps(selection, context);
    check_size(opened, use, context);
    opened.fingerprint = fingerprint_of(opened.whole);
    return opened;
  });
  check_same_everywhere(ranks, "array", maps.fingerprint);
  maps.options.keep_absent = keep_absent;
  MapSource source;
  source.tensor = make_network_tensor(maps.array.values, maps.options, maps.array.where, ranks);
  source.fingerprint = std::move(maps.fingerprint);
  source.mask_fingerprint = std::move(maps.mask_fingerprint);
  MapInfo& info = source.info;
  info.file = std::move(maps.array.where);
  info.what = source.tensor.kind;
  info.head_names = std::move(maps.head_names);
  info.query_names =
      position_names(source.tensor.query_positions, maps.about.first_query.value_or(0), maps.about.row_tokens());
  info.key_names = position_names(source.tensor.key_positions, 0, maps.about.tokens);
  info.masked = source.tensor.masked();
  info.absent = fraction_absent(source.tensor, info.head_names.size(), ranks);
  info.notes = source.tensor.notes;
  source.description = std::move(maps.about);
  return source;
}

std::string name_of(const MapSource& source) {
  const MapDescription& about = source.description;
  const std::string& name = about.file.empty() ? about.source : about.name;
  return printable(name.empty() ? kUnnamedArray : name, 60);  // no path: results do not depend on where an array lies
}

void describe_maps(std::map<std::string, std::string>& identity, const MapSource& source) {
  identity["source"] = source.fingerprint;
  if (!source.mask_fingerprint.empty()) identity["mask_array"] = source.mask_fingerprint;
}

}  // namespace headscope::app
