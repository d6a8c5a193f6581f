#include "headscope/io/zeroed_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/io/mapped_file.h"

namespace headscope {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

void check(std::span<const ByteRange> zeros, std::size_t size) {
  std::size_t last = 0;
  for (const ByteRange& range : zeros) {
    if (range.begin < last || range.end < range.begin || range.end > size) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("zeroed copy: range {} to {} begins before {} or ends after the {} bytes of the file",
                              range.begin, range.end, last, size));
    }
    last = range.end;
  }
}

}  // namespace

void write_zeroed_copy(std::span<const std::byte> source, std::span<const ByteRange> zeros, AtomicFile& file,
                       const Context& context) {
  check(zeros, source.size());
  std::vector<std::byte> piece(std::min(kPiece, source.size()));
  std::size_t next = 0;  // the first range that does not end before this piece
  for (std::size_t begin = 0; begin < source.size(); begin += kPiece) {
    const std::span<const std::byte> part = source.subspan(begin, std::min(kPiece, source.size() - begin));
    const std::size_t end = begin + part.size();
    std::ranges::copy(part, piece.begin());
    while (next < zeros.size() && zeros[next].end <= begin) ++next;
    for (std::size_t i = next; i < zeros.size() && zeros[i].begin < end; ++i) {
      const std::size_t from = std::max(zeros[i].begin, begin) - begin;
      const std::size_t to = std::min(zeros[i].end, end) - begin;
      std::ranges::fill(std::span(piece).subspan(from, to - from), std::byte{0});
    }
    file.write(std::span<const std::byte>(piece).first(part.size()));
    release_pages(part);
    context.report(static_cast<double>(end) / static_cast<double>(source.size()));
  }
}

}  // namespace headscope
