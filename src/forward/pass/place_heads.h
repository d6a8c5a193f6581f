#pragma once

#include <array>
#include <cstddef>

#include "forward/head_columns.h"
#include "forward/placement.h"
#include "forward/rotary_table.h"

namespace headscope {

/// Places the queries, keys and values of one input, in place. `columns` begin at the input's first row; `queries` and
/// `keys` are its numbers of tokens.
void place_heads(const Placement& placement, const RotaryTable& rotary, const std::array<HeadColumns, 3>& columns,
                 std::size_t queries, std::size_t keys);

}  // namespace headscope
