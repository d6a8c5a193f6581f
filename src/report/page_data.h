#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/shape.h"
#include "headscope/model/head_id.h"
#include "headscope/report/page.h"
#include "headscope/run/run_contents.h"
#include "headscope/tree/partition_tree.h"
#include "report/blocks.h"

namespace headscope::report {

using Json = nlohmann::ordered_json;

/// A page under construction.
struct PageData {
  const RunContents& run;
  const PageOptions& options;
  const Context& context;
  Json root = Json::object();
  /// The member "tables" of `root`, as JSON text: as values, its cells would take twenty times the memory.
  std::string tables = {};
  Blocks blocks = {};
  std::vector<std::string> notes = {};

  /// Stores numbers as integers of `bits` bits and returns their description. With `by_slice`, each slice of the first
  /// axis has its own scale.
  [[nodiscard]] Json add_quantized(std::span<const float> values, const Shape& shape, int bits, int power = 1,
                                   bool by_slice = false);
  /// Stores numbers unchanged and returns their description.
  [[nodiscard]] Json add_floats(std::span<const float> values, const Shape& shape);
};

/// Fraction of the total time spent on affinities; the rest goes to maps.
inline constexpr double kAffinityShare = 0.3;

// Each function adds one kind of output of the commands, if present. Errors as `build_page`.

/// Tables at the top level of the folder, stored by column. Before all others.
void add_tables(PageData& page);
/// affinity/<metric>_<PAIR>.npy with their heads and distributions. After `add_tables`.
void add_affinities(PageData& page);
/// tree.json, trees/*.json.
void add_trees(PageData& page);
/// affinity/, embedding/ and order/ of {query, key, head}.
void add_axes(PageData& page);
/// pattern.npy, scores.npy and tokens.json, at the top level and in inputs/N. After `add_axes`.
void add_maps(PageData& page);
/// thumbnail.npy of every input that is in the page. `add_maps` calls it.
void add_thumbnails(PageData& page);
/// paraproduct/<head>.npz.
void add_paraproducts(PageData& page);
/// prune.json; its tables are added by `add_tables`.
void add_pruning(PageData& page);
/// compare.json, distances.npy, compared/<run>/<axis>.
void add_comparison(PageData& page);

/// The order of the leaves and, for every level, where its folders end in that order: a small multiple of n numbers.
[[nodiscard]] Json packed_tree(const PartitionTree& tree, JsonValue names);

/// Converts a JSON value read from a file; non-finite numbers become null.
[[nodiscard]] Json as_json(JsonValue value);

}  // namespace headscope::report
