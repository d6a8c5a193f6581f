#pragma once

#include <cstddef>

#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What a layer adds to the scores of two patches of a window by their distance in rows and columns (Swin).
class WindowBias {
 public:
  /// \throws Error  kFormat as `read_vector`.
  WindowBias(const Model& model, const StoredWindowBias& stored, std::size_t side);

  /// Bias of a head for a query that is `rows` and `columns` after the key, each between -side and side.
  [[nodiscard]] float at(std::size_t head, std::ptrdiff_t rows, std::ptrdiff_t columns) const {
    const auto reach = static_cast<std::ptrdiff_t>(side_) - 1;
    const auto place = (rows + reach) * (2 * reach + 1) + columns + reach;
    return values_(head, static_cast<std::size_t>(place));
  }

 private:
  std::size_t side_;
  Matrix values_;  // [head, distance]
};

}  // namespace headscope
