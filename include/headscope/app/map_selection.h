#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/app/option.h"
#include "headscope/app/request_parts.h"
#include "headscope/base/ranks.h"
#include "headscope/organize/network_tensor.h"

namespace headscope {

inline constexpr std::string_view kAllInputs = "all";

/// The maps that a command works on: some heads, queries and keys of an array.
struct MapSelection {
  /// A folder with the maps that `capture` wrote, a .npy, .npz or .safetensors file, or an array in memory.
  ArrayInput source = {};
  /// Of a folder with the maps of several inputs: all of them, or the name, the file or the number of one.
  std::string input = std::string(kAllInputs);
  std::optional<Block> block = {};  ///< Of a folder with the maps of a model with an encoder and a decoder.
  std::string description = {};     ///< Of an array in memory: the text of its tokens.json; may be empty.
  MapKind what = MapKind::kPattern;
  std::string axes = "hqk";  ///< Of an array: hqk, lhqk, qkh or qk. A folder has hqk.
  std::string array = {};    ///< Name of the array in a file with several.
  /// none, causal, zeros (exact zeros are absent) or the name of an .npy file (its zeros are absent). Empty: what the
  /// source says, else none.
  std::string mask = {};
  ArrayInput mask_array = {};  ///< If set, used instead of `mask`: its zeros are absent.
  HeadSelection selection = {};
  std::optional<IndexRange> queries = {};
  std::optional<IndexRange> keys = {};
  std::size_t skip_first = 0;  ///< Number of first tokens that are left out, as queries and as keys.
};
/// SOURCE, --block, --input, --axes, --array, --mask, --skip-first, --layers, --heads, --queries, --keys
void describe(MapSelection& maps, OptionList& options);
/// Returns the fingerprint of an array as it is in the identity of a command that works on it, under the key "source".
/// \throws Error  as reading the array.
[[nodiscard]] std::string fingerprint(const ArrayInput& array);
/// --what
void describe_what(MapKind& what, OptionList& options);

/// The maps that were selected, without their values.
struct MapInfo {
  std::string file;  ///< Where the array came from.
  MapKind what = MapKind::kPattern;
  std::vector<std::string> head_names;
  std::vector<std::string> query_names;  ///< Tokens, or positions if they are not known.
  std::vector<std::string> key_names;
  bool masked = false;             ///< Whether entries may be absent.
  double absent = 0;               ///< Fraction of the entries that are absent.
  std::vector<std::string> notes;  ///< What was left out, which heads are constant, ...
};

}  // namespace headscope
