#pragma once

#include <cstddef>
#include <string>

#include "headscope/app/request_parts.h"
#include "headscope/base/context.h"
#include "headscope/io/array_source.h"
#include "headscope/io/mapped_file.h"

namespace headscope::app {

/// An array, and where it comes from, for messages.
struct MapArray {
  ArraySource values;
  std::string where;
};

/// Opens the array of an .npy, .npz or .safetensors file, or the one in memory, which messages call `called`. `wanted`
/// is its name in a file with several. Values are decoded when they are read, except in .npz files and in Fortran
/// order: such an array is decoded as a whole here, and `memory` limits its size.
///
/// \throws Error  kInvalidArgument if a name is needed, or the number of values in memory does not match their shape;
///                kIo, kFormat, kUnsupported if the file cannot be read; kResource if the array is too large.
[[nodiscard]] MapArray open_map_array(const ArrayInput& input, const std::string& called, const std::string& wanted,
                                      const Context& context);

/// The same for the array of a mapped .npy file.
[[nodiscard]] MapArray open_npy_array(MappedFile file, const Context& context);

/// Returns the 64-bit FNV-1a hash of shape and floats. Of large arrays only pages spread over them are read.
/// \throws Error  as reading the array.
[[nodiscard]] std::string fingerprint_of(const ArraySource& array);

}  // namespace headscope::app
