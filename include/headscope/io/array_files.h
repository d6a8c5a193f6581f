#pragma once

#include <string_view>

#include "headscope/io/array_source.h"
#include "headscope/io/npy.h"
#include "headscope/io/npz.h"
#include "headscope/io/safetensors.h"

namespace headscope {

/// Returns the array of an npy file. In C order it stays in the file and is decoded as it is read; in Fortran order it
/// is decoded here, as a whole.
/// \throws Error  as `npy_values`; reading throws as `read_npy`. `where` is the prefix of the message.
[[nodiscard]] ArraySource npy_source(NpyFile file, std::string_view where);

/// Returns an array of an npz file, decoded here as a whole, because its checksum covers all of it.
/// \throws Error  as `npy_values`.
[[nodiscard]] ArraySource npz_source(const NpzFile::Array& array, std::string_view where);

/// Returns a tensor of a safetensors file, one of `file.tensors()`. It stays in the file and is decoded as it is read.
/// \throws Error  kInvalidArgument if there is no such tensor, kUnsupported if its element type is not decodable.
[[nodiscard]] ArraySource tensor_source(SafetensorsFile file, std::string_view name);

}  // namespace headscope
