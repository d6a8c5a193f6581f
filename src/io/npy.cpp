#include "headscope/io/npy.h"

#include <fmt/format.h>

#include <optional>

#include "headscope/base/error.h"
#include "headscope/io/atomic_file.h"
#include "headscope/io/byte_reader.h"
#include "io/npy_header.h"

namespace headscope {
namespace {

// Reads the dictionary at the start of the file and leaves the reader at the elements.
std::string_view read_dictionary(ByteReader& reader, std::string_view where) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (reader.remaining() < kMagic.size() || as_text(reader.take(kMagic.size(), "magic")) != kMagic) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: not an npy array: it does not begin with \\x93NUMPY", where));
  }
  const int major = reader.read<std::uint8_t>("version");
  const int minor = reader.read<std::uint8_t>("version");
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: npy format {}.{}, expected 1.0, 2.0 or 3.0", where, major, minor));
  }
  const std::uint32_t length =
      major == 1 ? reader.read<std::uint16_t>("header length") : reader.read<std::uint32_t>("header length");
  return as_text(reader.take(length, "header"));
}

}  // namespace

NpyView parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  ByteReader reader(bytes, where);
  NpyHeader header = parse_npy_header(read_dictionary(reader, where), where);

  const std::optional<std::uint64_t> elements = element_count(header.shape);
  const std::optional<std::uint64_t> needed =
      elements ? checked_product(*elements, header.type.size) : std::optional<std::uint64_t>();
  if (!needed || *needed != reader.remaining()) {
    const std::string expected = needed ? fmt::format("{} bytes", *needed) : "more bytes than 64 bits can count";
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: {} bytes follow the npy header, but shape {} of {}-byte elements takes {}", where,
                            reader.remaining(), to_string(header.shape), header.type.size, expected));
  }
  return {header.type, header.fortran_order, std::move(header.shape), reader.take(*needed, "elements")};
}

NpyFile NpyFile::open(MappedFile file) {
  NpyView array = parse_npy(file.bytes(), file.path().string());
  return {std::move(file), std::move(array)};
}

template <typename T>
void write_npy(const std::filesystem::path& path, std::span<const T> values, std::span<const std::size_t> shape) {
  const std::string header = checked_npy_header(npy_type<T>(), values.size(), shape, path.string());
  AtomicFile file(path);
  file.write(header);
  file.write(std::as_bytes(values));
  file.commit();
}

template void write_npy<float>(const std::filesystem::path&, std::span<const float>, std::span<const std::size_t>);
template void write_npy<double>(const std::filesystem::path&, std::span<const double>, std::span<const std::size_t>);
template void write_npy<std::uint8_t>(const std::filesystem::path&, std::span<const std::uint8_t>,
                                      std::span<const std::size_t>);
template void write_npy<std::int64_t>(const std::filesystem::path&, std::span<const std::int64_t>,
                                      std::span<const std::size_t>);

}  // namespace headscope
