#pragma once

#include <cstddef>
#include <span>

#include "headscope/base/context.h"
#include "headscope/io/atomic_file.h"

namespace headscope {

/// Bytes from `begin` up to but not including `end`.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Writes a copy of a file with zeros in place of some of its bytes: header, padding, order and everything else are
/// unchanged, regardless of the format.
///
/// Streams in pieces of a few megabytes and releases their pages, so that memory use does not grow with the file. Of
/// the context, only progress and cancellation are used.
///
/// \throws Error  kInvalidArgument if the ranges are not ascending, disjoint and inside the file; as
///                `AtomicFile::write` otherwise.
void write_zeroed_copy(std::span<const std::byte> source, std::span<const ByteRange> zeros, AtomicFile& file,
                       const Context& context = {});

}  // namespace headscope
