#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "headscope/apply/prune.h"

namespace headscope {

/// Which heads may go and how many do.
struct PrunePlan {
  std::vector<HeadId> removable;  ///< Ascending.
  std::set<HeadId> zero;          ///< Heads of the model that write nothing.
  std::size_t count = 0;          ///< In all.
  bool per_layer = false;
};

/// \throws Error  kInvalidArgument as `prune` says.
[[nodiscard]] PrunePlan make_plan(const Model& model, const PruneOptions& options);

/// Whose turn it is: where a budget holds per layer, layers that have lost the fewest heads of those that still have
/// some to lose.
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
