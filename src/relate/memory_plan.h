#pragma once

#include <cstddef>

#include "headscope/relate/relate.h"

namespace headscope {

/// What `relate` takes, in bytes on rank 0; the other ranks take less. Sums saturate.
struct RelateMemory {
  std::size_t heads = 0;    ///< Number of nodes of the graph.
  std::size_t results = 0;  ///< Held from the first stage to the end: affinities, descriptions of heads, edges.
  std::size_t engine = 0;   ///< Besides results and prepared sources while affinities are computed.
  std::size_t layer = 0;    ///< One prepared source layer, the fewest that is kept.
  std::size_t matched = 0;  ///< The stages that follow, besides the results.
  std::size_t sensitivity = 0;
  std::size_t judgment = 0;
  std::size_t communities = 0;
  std::size_t measures = 0;  ///< Informativeness and scores of labels.

  /// The smallest memory that is enough.
  [[nodiscard]] std::size_t needed() const noexcept;
};

/// Bytes that an edge takes in the result, its graph and the files that are written of it.
inline constexpr std::size_t kEdgeBytes = 5120;

/// Estimates the memory from sizes alone, within about 20 % for more than a thousand heads. Edges that `q_level`
/// selects are not counted, because their number is not known yet.
///
/// \throws Error  kInvalidArgument if a selected layer or head does not exist.
[[nodiscard]] RelateMemory relate_memory(const ModelInfo& model, const RelateOptions& options, std::size_t ranks = 1);

}  // namespace headscope
