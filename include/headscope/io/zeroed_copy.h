#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "headscope/io/atomic_file.h"

namespace headscope {

/// Bytes from `begin` up to, not with, `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Writes a file's bytes with zeros in place of some of them: header, padding, order and everything else about the
/// copy are the original's, whatever its format.
///
/// Streams in pieces of a few megabytes and gives their pages back, so that the memory in use does not grow with the
/// file. `progress` is called with the share that is done, from the calling thread; what it throws ends the copy.
///
/// \throws Error  kInvalidArgument if the ranges are not ascending, disjoint and inside the file; as
///                `AtomicFile::write` otherwise.
void write_zeroed_copy(std::span<const std::byte> source, std::span<const ByteRange> zeros, AtomicFile& file,
                       const std::function<void(double)>& progress = {});

}  // namespace headscope
