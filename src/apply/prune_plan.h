#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "headscope/apply/prune.h"

namespace headscope {

/// Which heads may be removed, and how many are.
struct PrunePlan {
  std::vector<HeadId> removable;  ///< Ascending.
  std::set<HeadId> zero;          ///< Heads of the model that write nothing.
  std::size_t count = 0;          ///< Number of heads to remove in total.
  bool per_layer = false;
};

/// \throws Error  kInvalidArgument, see `prune`.
[[nodiscard]] PrunePlan make_plan(const Model& model, const PruneOptions& options);

/// Decides which layers may lose the next head. With a per-layer budget: those that have lost the fewest heads among
/// the layers that still have removable ones.
class LayerTurns {
 public:
  explicit LayerTurns(const PrunePlan& plan);
  [[nodiscard]] bool has_turn(std::size_t layer) const;
  void take(std::size_t layer);

 private:
  bool per_layer_;
  std::vector<std::size_t> taken_;
  std::vector<std::size_t> left_;
};

}  // namespace headscope
