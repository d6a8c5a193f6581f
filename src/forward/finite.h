#pragma once

#include <atomic>

#include "forward/parallel_rows.h"
#include "headscope/base/matrix.h"
#include "headscope/io/decode.h"

namespace headscope {

/// Whether no element is NaN or infinite, on all threads. Rows must have unit stride.
[[nodiscard]] inline bool all_finite(MatrixView values) {
  std::atomic<bool> finite = true;
  parallel_for_rows(values.rows(), [&](std::size_t i) {
    if (find_non_finite({values.data() + i * values.row_stride(), values.columns()})) finite = false;
  });
  return finite;
}

}  // namespace headscope
