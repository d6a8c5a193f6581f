#pragma once

#include <span>

#include "headscope/io/array_source.h"
#include "organize/array_axes.h"

namespace headscope {

/// The chosen entries of an array, as [head, query, key]. T is float, or std::uint8_t for whether they are not zero.
///
/// Nothing but chosen heads is read where heads come first; where they come last, as they lie side by side, the chosen
/// queries.
///
/// \throws Error  as reading the array.
template <typename T>
void read_entries(const ArraySource& array, const ArrayAxes& axes, const Selection& chosen, std::span<T> out);

}  // namespace headscope
