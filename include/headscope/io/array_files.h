#pragma once

#include <string_view>

#include "headscope/io/array_source.h"
#include "headscope/io/npy.h"
#include "headscope/io/npz.h"
#include "headscope/io/safetensors.h"

namespace headscope {

/// The array of an npy file. In C order it stays in the file, and what is read is decoded then; in Fortran order all of
/// it is decoded here.
/// \throws Error  as `npy_values`; reading throws as `read_npy`. `where` begins the message.
[[nodiscard]] ArraySource npy_source(NpyFile file, std::string_view where);

/// An array of an npz file: all of it is decoded here, as its checksum is that of the whole.
/// \throws Error  as `npy_values`.
[[nodiscard]] ArraySource npz_source(const NpzFile::Array& array, std::string_view where);

/// A tensor of a safetensors file, one of `file.tensors()`: it stays in the file, and what is read is decoded then.
/// \throws Error  kInvalidArgument if there is no such tensor, kUnsupported if its elements are not decodable.
[[nodiscard]] ArraySource tensor_source(SafetensorsFile file, std::string_view name);

}  // namespace headscope
