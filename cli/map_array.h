#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "cli/session.h"
#include "headscope/io/array_source.h"

namespace headscope::cli {

/// An array with where it comes from, as messages say it.
struct MapArray {
  ArraySource values;
  std::string where;
};

/// Opens the array of an .npy, .npz or .safetensors file, or takes the host's. `wanted` is its name in a file of
/// several. It stays where it is and is decoded as it is read, but arrays of .npz files and in Fortran order: all of
/// those is decoded here, and `memory` bounds what they may take.
///
/// \throws Error  kInvalidArgument if a name is needed; kIo, kFormat, kUnsupported if it cannot be read; kResource if
/// it
///                is too large.
[[nodiscard]] MapArray open_map_array(const std::filesystem::path& path, const std::string& wanted, std::size_t memory,
                                      const Session& session);

/// 64-bit FNV-1a of shape and floats; of large arrays, of pages spread over them, and only those are read.
/// \throws Error  as reading the array.
[[nodiscard]] std::string fingerprint_of(const ArraySource& array);

/// How many floats fit the budget: values are held, sorted and transformed, three times their size in all.
[[nodiscard]] constexpr std::size_t floats_within(std::size_t memory) noexcept {
  return memory / (3 * sizeof(float));
}

}  // namespace headscope::cli
