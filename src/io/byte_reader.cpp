#include "headscope/io/byte_reader.h"

#include <fmt/format.h>

#include <bit>

#include "headscope/base/error.h"

namespace headscope {

static_assert(std::endian::native == std::endian::little, "files are read in place as little-endian");

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
  if (count > remaining()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {} at byte {} needs {} bytes, but only {} are left", where_, what,
                                                position_, count, remaining()));
  }
  const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += taken.size();
  return taken;
}

}  // namespace headscope
