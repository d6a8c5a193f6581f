#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headscope/base/shape.h"
#include "headscope/io/npy.h"

namespace headscope {

/// Contents of the dictionary at the start of an npy file.
struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  Shape shape;
};

/// Parses that dictionary, a Python literal: "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
///
/// \throws Error  kFormat, kUnsupported as `parse_npy`.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view text, std::string_view where);

/// Returns the `npy_header` of a C-ordered array of `count` elements.
///
/// \throws Error  kInvalidArgument if the number of elements of the shape is not `count`.
[[nodiscard]] std::string checked_npy_header(const NpyType& type, std::size_t count, std::span<const std::size_t> shape,
                                             std::string_view where);

}  // namespace headscope
