#pragma once

#include <array>
#include <cstddef>

#include "forward/head_columns.h"
#include "forward/pass/batch.h"
#include "forward/pass/pass.h"
#include "forward/rotary_table.h"

namespace headscope {

/// Applies norms and rotary positions to the queries and keys of one input, norms to its values, and clips them all, in
/// place. `columns` begin at the input's first row; `keys` is its number of keys.
void place_heads(const Pass& pass, std::size_t layer, const RotaryTable& rotary,
                 const std::array<HeadColumns, 3>& columns, const Member& member, std::size_t keys);

}  // namespace headscope
