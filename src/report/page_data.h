#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "headscope/base/shape.h"
#include "headscope/model/head_id.h"
#include "headscope/report/page.h"
#include "headscope/tree/partition_tree.h"
#include "report/blocks.h"
#include "report/run_contents.h"

namespace headscope::report {

using Json = nlohmann::ordered_json;

/// A page while it is put together.
struct PageData {
  const RunContents& run;
  const PageOptions& options;
  Json root = Json::object();
  Blocks blocks = {};
  std::vector<std::string> notes = {};

  /// Stores numbers as integers of `bits` bits, the slices of the first axis each on a scale of their own if
  /// `by_slice`, and describes them.
  [[nodiscard]] Json add_quantized(std::span<const float> values, const Shape& shape, int bits, int power = 1,
                                   bool by_slice = false);
  /// Stores numbers as they are.
  [[nodiscard]] Json add_floats(std::span<const float> values, const Shape& shape);

  void progress(double share) const {
    if (options.progress) options.progress(share);
  }
};

/// Of the time that a page takes, what affinities take; the rest goes to maps.
inline constexpr double kAffinityShare = 0.3;

// What the commands wrote, each part if it is there. Errors as `build_page`.

/// Tables in the folder itself, as columns.
void add_tables(PageData& page);
/// affinity/<metric>_<PAIR>.npy with their heads and distributions. After `add_tables`.
void add_affinities(PageData& page);
/// tree.json, trees/*.json.
void add_trees(PageData& page);
/// affinity/, embedding/ and order/ of {query, key, head}.
void add_axes(PageData& page);
/// pattern.npy, scores.npy and tokens.json, of the folder and of inputs/N. After `add_axes`.
void add_maps(PageData& page);
/// paraproduct/<head>.npz.
void add_paraproducts(PageData& page);
/// prune.json; its tables are among the others.
void add_pruning(PageData& page);
/// compare.json, distances.npy, compared/<run>/<axis>.
void add_comparison(PageData& page);

/// The order of the leaves, and for every level where its folders end in that order: a small multiple of n numbers.
[[nodiscard]] Json packed_tree(const PartitionTree& tree, JsonValue names);

/// JSON of a value read from a file: as it is, numbers that are not finite as null.
[[nodiscard]] Json as_json(JsonValue value);

}  // namespace headscope::report
