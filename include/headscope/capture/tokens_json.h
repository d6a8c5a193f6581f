#pragma once

#include <span>
#include <string>

#include "headscope/capture/inputs.h"
#include "headscope/model/head_id.h"

namespace headscope {

/// What the maps of one input need to be read by.
struct MapsDescription {
  std::span<const HeadId> heads;  ///< Of the maps' first axis.
  std::size_t first_query = 0;    ///< Token of the maps' first row.
  std::size_t queries = 0;        ///< Rows of a map.
  bool causal = true;
  std::vector<std::size_t> windows = {};  ///< By layer of the model; 0: none.
};

/// tokens.json of a RUN: kind, mask, heads, and every token's text, offsets or patch. Text that is not UTF-8 or holds
/// control characters is escaped.
[[nodiscard]] std::string tokens_json(const DescribedInput& input, const MapsDescription& maps);

}  // namespace headscope
