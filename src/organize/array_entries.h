#pragma once

#include <span>

#include "headscope/io/array_source.h"
#include "organize/array_axes.h"

namespace headscope {

/// Reads the selected entries of an array as [head, query, key]. T is float, or std::uint8_t for flags: 1 if the entry
/// is nonzero.
///
/// If heads come first in the array, only the selected heads are read. If they come last, interleaved, the selected
/// queries and keys are read for all heads.
///
/// \throws Error  as reading the array.
template <typename T>
void read_entries(const ArraySource& array, const ArrayAxes& axes, const Selection& chosen, std::span<T> out);

}  // namespace headscope
