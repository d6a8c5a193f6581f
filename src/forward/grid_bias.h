#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/patch_grid.h"
#include "headscope/model/model.h"

namespace headscope {

/// What a layer adds to the scores by the distance of two patches in rows and columns (arXiv 2106.08254). Token 0 is
/// the class token, which has a bias as a query, as a key, and with itself.
class GridBias {
 public:
  /// `table` is [(2 height - 1) (2 width - 1) + 3, heads].
  GridBias(const Model& model, const StoredTensor& table, PatchGrid grid);

  /// Adds the bias of the keys from `first_key` on to a query's scores.
  void add(std::size_t head, std::size_t query, std::size_t first_key, std::span<float> scores) const;

 private:
  PatchGrid grid_;
  Matrix values_;  // [head, distance]
};

}  // namespace headscope
