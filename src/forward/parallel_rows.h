#pragma once

#include <algorithm>
#include <cstddef>

#include "headscope/base/parallel.h"

namespace headscope {

/// Calls body(i) for every row on several threads, 32 rows at a time: a single row is too little work per task.
template <typename Body>
void parallel_for_rows(std::size_t rows, const Body& body) {
  constexpr std::size_t kGroup = 32;
  parallel_for((rows + kGroup - 1) / kGroup, [&](std::size_t group) {
    for (std::size_t i = group * kGroup; i < std::min(rows, (group + 1) * kGroup); ++i) body(i);
  });
}

}  // namespace headscope
