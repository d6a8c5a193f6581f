#include "headscope/io/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "headscope/base/error.h"
#include "io/zip_directory.h"

namespace headscope {
namespace {

void check_crc(const ZipEntry& entry, std::span<const std::byte> bytes, const std::string& where) {
  const uLong crc = bytes.empty() ? 0 : ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != entry.crc) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: entry '{}' has CRC-32 {:08x}, expected {:08x}: the file is damaged", where,
                            printable(entry.name), crc, entry.crc));
  }
}

// Inflates one whole buffer into another with zlib's raw inflate.
class Inflater {
 public:
  Inflater() : status_(inflateInit2(&stream_, -MAX_WBITS)) {  // negative: no zlib header, as in zip files
    if (status_ != Z_OK) throw Error(ErrorKind::kResource, "zlib: cannot start, out of memory");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  // Returns true if all of `in` inflates to exactly `expected` bytes; `out` must have room for one more.
  [[nodiscard]] bool run(std::span<const std::byte> in, std::span<std::byte> out, std::size_t expected) {
    constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib's counters are 32-bit
    while (status_ == Z_OK) {
      const auto rest_in = in.subspan(stream_.total_in);
      const auto rest_out = out.subspan(stream_.total_out);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_in.data()));
      stream_.avail_in = static_cast<uInt>(std::min(rest_in.size(), kStep));
      stream_.next_out = reinterpret_cast<Bytef*>(rest_out.data());
      stream_.avail_out = static_cast<uInt>(std::min(rest_out.size(), kStep));
      status_ = ::inflate(&stream_, Z_NO_FLUSH);  // returns Z_BUF_ERROR if no progress is possible
    }
    return status_ == Z_STREAM_END && stream_.total_in == in.size() && stream_.total_out == expected;
  }

 private:
  z_stream stream_ = {};
  int status_;
};

}  // namespace

ZipFile ZipFile::open(MappedFile file) {
  std::vector<ZipEntry> entries = zip::read_directory(file.bytes(), file.path().string());
  return {std::move(file), std::move(entries)};
}

const ZipEntry* ZipFile::find(std::string_view name) const noexcept {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const ZipEntry& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::span<const std::byte> ZipFile::stored_bytes(const ZipEntry& entry) const {
  if (entry.deflated) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: entry '{}' is deflated, not stored", path().string(), printable(entry.name)));
  }
  check_crc(entry, entry.compressed, path().string());
  return entry.compressed;
}

std::vector<std::byte> ZipFile::inflate(const ZipEntry& entry) const {
  const std::string where = path().string();
  if (!entry.deflated) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: entry '{}' is stored, not deflated", where, printable(entry.name)));
  }
  if (entry.size > kMaxRatio * entry.compressed.size()) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: entry '{}' says that its {} bytes inflate to {}, more than {} times as many; "
                            "save it uncompressed, with np.savez",
                            where, printable(entry.name), entry.compressed.size(), entry.size, kMaxRatio));
  }
  const auto size = static_cast<std::size_t>(entry.size);
  std::vector<std::byte> out(size + 1);  // one extra byte, to detect more data than declared
  if (!Inflater().run(entry.compressed, out, size)) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: entry '{}' does not inflate to the {} bytes it declares", where,
                                                printable(entry.name), size));
  }
  out.pop_back();
  check_crc(entry, out, where);
  return out;
}

}  // namespace headscope
