#include "image/check_png.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "image/image_size.h"

namespace headscope {
namespace {

constexpr std::size_t kPaletteBytes = 256 * 3;

std::uint32_t big_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.first(4)) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

struct Chunk {
  std::string_view type;
  std::span<const std::byte> data;
};

// Chunks whose type starts with a capital letter must not be skipped.
bool is_critical(std::string_view type) {
  return type[0] >= 'A' && type[0] <= 'Z';
}

class PngReader {
 public:
  PngReader(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels)
      : reader_(file, where), where_(where), max_pixels_(max_pixels) {}

  CheckedPng run() {
    static_cast<void>(reader_.take(8, "the PNG signature"));
    read_header(next());
    for (Chunk chunk = next(); chunk.type != "IEND"; chunk = next()) read_chunk(chunk);
    if (color_ == 3 && palette_.empty()) fail("has a palette type but no palette");
    if (data_size_ == 0) fail("holds no pixel data");
    return finish();
  }

 private:
  [[noreturn]] void fail(const std::string& what, ErrorKind kind = ErrorKind::kFormat) const {
    throw Error(kind, fmt::format("{}: {}", where_, what));
  }

  Chunk next() {
    if (reader_.remaining() < 12) {
      fail(fmt::format("ends at byte {} without the end of a PNG image (is it truncated?)",
                       reader_.position() + reader_.remaining()));
    }
    const std::size_t begin = reader_.position();
    const std::uint32_t length = big_endian(reader_.take(4, "a chunk's length"));
    if (length > reader_.remaining() - 8) {
      fail(fmt::format("the PNG chunk at byte {} claims {} bytes, but {} are left (is the file truncated?)", begin,
                       length, reader_.remaining() - 8));
    }
    const std::span<const std::byte> sealed = reader_.take(4 + std::uint64_t{length}, "a chunk");
    const std::uint32_t checksum = big_endian(reader_.take(4, "a chunk's checksum"));
    const Chunk chunk{as_text(sealed.first(4)), sealed.subspan(4)};
    if (is_critical(chunk.type)) {
      const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(sealed.data()), sealed.size());
      if (sum != checksum) {
        fail(fmt::format("the PNG chunk '{}' at byte {} does not fit its checksum: the file is damaged",
                         printable(chunk.type), begin));
      }
    }
    return chunk;
  }

  void read_header(const Chunk& chunk) {
    if (chunk.type != "IHDR" || chunk.data.size() != 13) {
      fail(fmt::format("the PNG file begins with a chunk '{}' of {} bytes, expected 'IHDR' of 13",
                       printable(chunk.type), chunk.data.size()));
    }
    header_ = chunk.data;
    png_.width = big_endian(header_);
    png_.height = big_endian(header_.subspan(4));
    check_image_size(png_.height, png_.width, where_, max_pixels_);
    depth_ = std::to_integer<unsigned>(header_[8]);
    color_ = std::to_integer<unsigned>(header_[9]);
    const auto rest = header_.subspan(10);
    // Bit mask of the depths allowed for each color type.
    constexpr std::array<unsigned, 7> kDepths = {1 | 2 | 4 | 8 | 16, 0, 8 | 16, 1 | 2 | 4 | 8, 8 | 16, 0, 8 | 16};
    const bool power = depth_ != 0 && (depth_ & (depth_ - 1)) == 0;
    if (color_ >= kDepths.size() || !power || (kDepths[color_] & depth_) == 0) {
      fail(fmt::format("PNG color type {} with {} bits does not exist", color_, depth_));
    }
    if (rest[0] != std::byte{0} || rest[1] != std::byte{0} || rest[2] > std::byte{1}) {
      fail(fmt::format("PNG compression {}, filter {}, interlace {}, expected 0, 0, and 0 or 1",
                       std::to_integer<int>(rest[0]), std::to_integer<int>(rest[1]), std::to_integer<int>(rest[2])));
    }
    png_.gray16 = color_ == 0 && depth_ == 16;
  }

  void read_chunk(const Chunk& chunk) {
    if (chunk.type == "IDAT") {
      if (data_ended_) fail("its PNG pixel data is interrupted by another chunk");
      data_.push_back(chunk.data);
      data_size_ += chunk.data.size();
      return;
    }
    data_ended_ = !data_.empty();
    if (chunk.type == "PLTE") {
      if (!palette_.empty() || data_ended_) fail("its PNG palette stands twice or after the pixels");
      if (chunk.data.empty() || chunk.data.size() > kPaletteBytes || chunk.data.size() % 3 != 0) {
        fail(fmt::format("its PNG palette has {} bytes, expected 3 for each of 1 to 256 colors", chunk.data.size()));
      }
      palette_ = chunk.data;
    } else if (is_critical(chunk.type)) {
      fail(fmt::format("holds a PNG chunk '{}', which is no part of standard PNG; save it as a plain PNG",
                       printable(chunk.type)),
           ErrorKind::kUnsupported);
    }
  }

  void append(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    png_.file.insert(png_.file.end(), bytes.begin(), bytes.end());
  }
  void append(std::span<const std::byte> bytes) { png_.file.insert(png_.file.end(), bytes.begin(), bytes.end()); }
  void append_length(std::size_t length) {
    for (const unsigned shift : {24u, 16u, 8u, 0u}) png_.file.push_back(static_cast<std::byte>(length >> shift & 0xFF));
  }
  // Checksums are zero, since the decoder skips them.
  void append_chunk(std::string_view type, std::span<const std::byte> data, std::size_t zeros = 0) {
    append_length(data.size() + zeros);
    append(type);
    append(data);
    png_.file.resize(png_.file.size() + zeros + 4);
  }

  CheckedPng finish() {
    png_.file.reserve(data_size_ + kPaletteBytes + 100);
    append("\x89PNG\r\n\x1a\n");
    append_chunk("IHDR", header_);
    // Padded, because the decoder would read uninitialized memory for an index beyond the palette.
    if (color_ == 3) append_chunk("PLTE", palette_, kPaletteBytes - palette_.size());
    append_length(data_size_);
    append("IDAT");
    for (const auto part : data_) append(part);
    png_.file.resize(png_.file.size() + 4);
    append_chunk("IEND", {});

    constexpr std::array<std::size_t, 7> kChannels = {1, 0, 3, 1, 2, 0, 4};
    const std::size_t row = (png_.width * kChannels[color_] * depth_ + 7) / 8 + 1;
    // An interlaced image has at most twice as many rows; buffers grow by doubling; 16-bit levels of four channels take
    // 8 bytes.
    png_.largest_allocation = 4 * row * png_.height + 8 * png_.width * png_.height + 2 * data_size_ + 65536;
    return std::move(png_);
  }

  ByteReader reader_;
  std::string_view where_;
  std::size_t max_pixels_;
  CheckedPng png_;
  std::span<const std::byte> header_;
  unsigned depth_ = 0;
  unsigned color_ = 0;
  std::span<const std::byte> palette_;
  std::vector<std::span<const std::byte>> data_;
  std::size_t data_size_ = 0;
  bool data_ended_ = false;
};

}  // namespace

CheckedPng check_png(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels) {
  return PngReader(file, where, max_pixels).run();
}

}  // namespace headscope
