#pragma once

#include <cstddef>
#include <vector>

#include "headscope/io/stored_tensor.h"
#include "headscope/model/head_sizes.h"
#include "headscope/model/network.h"

namespace headscope {

/// Rows the MLP processes at a time: its hidden layer is about four times as wide as the stream.
inline constexpr std::size_t kMlpRows = 1024;

/// The layer's distinct projections of Q, K and V: a single one if the family has fused them.
[[nodiscard]] std::vector<const StoredLinear*> projections(const NetworkLayer& layer);
/// Every tensor that a layer reads.
[[nodiscard]] std::vector<const StoredTensor*> tensors_of(const NetworkLayer& layer);
[[nodiscard]] std::vector<const StoredTensor*> tensors_of(const MixerLayer& mixer);

/// Bytes a pass needs to hold, besides the blocks of maps. Must not depend on the number of threads: it determines
/// which inputs share a batch, which shows in the last bits of a result.
struct MemoryPlan {
  std::size_t per_token = 0;
  std::size_t fixed = 0;
  std::size_t window = 0;         ///< What a block of maps needs for one window of patches.
  std::size_t relative_rows = 0;  ///< Rows of the table of relative positions.

  /// One block of maps.
  [[nodiscard]] std::size_t block(std::size_t tokens) const;

  /// The smallest memory that is enough for an input of this many tokens, with one block of maps.
  [[nodiscard]] std::size_t needed(std::size_t tokens) const;
};
[[nodiscard]] MemoryPlan plan_memory(const Network& network, const HeadSizes& sizes, std::size_t longest);

/// Bytes that edits of what heads read take besides: the matrices of all roles of a layer, and for each token of a
/// batch what the edited heads read, as if all edits were computed at once.
struct EditsMemory {
  std::size_t per_token = 0;
  std::size_t fixed = 0;
};
[[nodiscard]] EditsMemory edits_memory(const Network& network, const HeadSizes& sizes);

}  // namespace headscope
