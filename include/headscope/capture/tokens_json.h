#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/capture/inputs.h"
#include "headscope/model/head_id.h"

namespace headscope {

/// Describes the maps of one input to a reader.
struct MapsDescription {
  std::span<const HeadId> heads;  ///< Heads along the maps' first axis.
  std::size_t first_query = 0;    ///< Token of the maps' first row.
  std::size_t queries = 0;        ///< Rows per map.
  bool causal = true;
  Block block = Block::kOnly;
  std::vector<std::size_t> windows = {};  ///< By layer of the model; 0: none.
  std::vector<std::size_t> chunks = {};   ///< The same: a query sees only keys of its own chunk of that many tokens.
  std::vector<PatchWindows> patch_windows = {};  ///< The same: a patch sees only those of its own window.
};

/// Returns the text of a RUN's tokens.json: kind, mask, heads, and every token's text, offsets or patch. Bytes that are
/// not UTF-8 are replaced by U+FFFD; control characters are escaped.
///
/// The reader of it is `parse_map_description` in run/map_description.h: an entry that is added here is added there.
[[nodiscard]] std::string tokens_json(const DescribedInput& input, const MapsDescription& maps);

}  // namespace headscope
