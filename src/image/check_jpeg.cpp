#include "image/check_jpeg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "headscope/base/error.h"
#include "image/image_size.h"

namespace headscope {
namespace {

// Encoders write about ten. Each scan costs a pass over all pixels, even if it holds only three bytes.
constexpr std::size_t kMaxScans = 200;

constexpr unsigned kHuffmanTables = 0xC4;
constexpr unsigned kEndOfImage = 0xD9;
constexpr unsigned kStartOfScan = 0xDA;
constexpr unsigned kQuantizationTables = 0xDB;
constexpr unsigned kProgressive = 0xC2;

bool stands_alone(unsigned marker) {
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
}

bool begins_frame(unsigned marker) {
  // 0xC4, 0xC8 and 0xCC are tables and an extension.
  return marker == 0xC0 || (marker > 0xC0 && marker <= 0xCF && marker % 4 != 0);
}

class JpegReader {
 public:
  JpegReader(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels)
      : file_(file), where_(where), max_pixels_(max_pixels) {}

  CheckedJpeg run() {
    std::size_t scans = 0;
    for (unsigned marker = next_marker(); marker != kEndOfImage; marker = next_marker()) {
      if (stands_alone(marker)) continue;
      const std::span<const std::byte> body = segment();
      if (begins_frame(marker)) read_frame(marker, body);
      if (marker == kHuffmanTables) read_huffman(body);
      if (marker == kQuantizationTables) read_quantization(body);
      if (marker != kStartOfScan) continue;
      read_scan(body);
      if (++scans > kMaxScans) {
        fail(fmt::format("holds more than {} JPEG scans, expected about ten", kMaxScans), ErrorKind::kUnsupported);
      }
    }
    if (scans == 0) fail("holds no JPEG pixel data");
    return jpeg_;
  }

 private:
  [[noreturn]] void fail(const std::string& what, ErrorKind kind = ErrorKind::kFormat) const {
    throw Error(kind, fmt::format("{}: {}", where_, what));
  }

  unsigned byte(std::size_t at) const { return std::to_integer<unsigned>(file_[at]); }

  // Skips everything that is not a marker: coded pixels (where 0xFF is followed by 0) and padding.
  unsigned next_marker() {
    while (position_ < file_.size()) {
      const auto rest = file_.subspan(position_);
      position_ += static_cast<std::size_t>(std::ranges::find(rest, std::byte{0xFF}) - rest.begin());
      while (position_ < file_.size() && byte(position_) == 0xFF) ++position_;
      if (position_ < file_.size() && byte(position_++) != 0) return byte(position_ - 1);
    }
    fail(fmt::format("ends at byte {} without the end of a JPEG image (is it truncated?)", file_.size()));
  }

  std::span<const std::byte> segment() {
    const std::size_t left = file_.size() - position_;
    const std::size_t length = left < 2 ? 0 : byte(position_) << 8 | byte(position_ + 1);
    if (length < 2 || length > left) {
      fail(fmt::format("the JPEG segment at byte {} claims {} bytes, but {} are left (is the file truncated?)",
                       position_ - 2, length, left));
    }
    const auto body = file_.subspan(position_ + 2, length - 2);
    position_ += length;
    return body;
  }

  void read_frame(unsigned marker, std::span<const std::byte> body) {
    if (jpeg_.width != 0) fail("tells its JPEG size twice");
    if (marker > 0xC2) {
      fail(fmt::format("is JPEG of kind {}, expected baseline or progressive (0 to 2); save it as a plain JPEG",
                       marker - 0xC0),
           ErrorKind::kUnsupported);
    }
    const auto number = [&](std::size_t at) { return std::to_integer<std::size_t>(body[at]); };
    if (body.size() < 6 || body.size() != 6 + 3 * number(5)) {
      fail(fmt::format("its JPEG frame header has {} bytes, expected 6 and 3 for each channel", body.size()));
    }
    if (number(0) != 8) {
      fail(fmt::format("is JPEG of {} bits, expected 8", number(0)), ErrorKind::kUnsupported);
    }
    const std::size_t channels = number(5);
    if (channels != 1 && channels != 3) {
      fail(fmt::format("is JPEG with {} channels, expected 3 or 1; save {} as RGB", channels,
                       channels == 4 ? "what probably is CMYK" : "it"),
           ErrorKind::kUnsupported);
    }
    const std::size_t height = number(1) << 8 | number(2);
    const std::size_t width = number(3) << 8 | number(4);
    check_image_size(height, width, where_, max_pixels_);
    jpeg_.height = height;
    jpeg_.width = width;
    progressive_ = marker == kProgressive;
    for (std::size_t c = 0; c < channels; ++c) quantization_.push_back(static_cast<unsigned>(number(8 + 3 * c)));
    // Channels are padded to blocks of up to 32 pixels per side and take 2 bytes per coefficient; the result takes 3.
    jpeg_.largest_allocation = 4 * (height + 64) * (width + 64) + 65536;
  }

  // Each table: one byte for class and number, the counts of codes of 1 to 16 bits, the values of the codes.
  void read_huffman(std::span<const std::byte> body) {
    while (!body.empty()) {
      const auto id = std::to_integer<unsigned>(body[0]);
      std::size_t codes = 0;
      if (body.size() >= 17) {
        for (const std::byte count : body.subspan(1, 16)) codes += std::to_integer<std::size_t>(count);
      }
      if (body.size() < 17 + codes || codes > 256 || id % 16 > 3 || id / 16 > 1)
        fail("a JPEG Huffman table is malformed");
      (id / 16 == 0 ? has_dc_ : has_ac_).at(id % 16) = true;
      body = body.subspan(17 + codes);
    }
  }

  // Each table: one byte for precision and number, then 64 values of 8 or 16 bits.
  void read_quantization(std::span<const std::byte> body) {
    while (!body.empty()) {
      const auto id = std::to_integer<unsigned>(body[0]);
      const std::size_t size = 1 + 64 * std::size_t{id / 16 + 1};
      if (body.size() < size || id % 16 > 3 || id / 16 > 1) fail("a JPEG quantization table is malformed");
      has_quantization_.at(id % 16) = true;
      body = body.subspan(size);
    }
  }

  // The decoder does not check that the tables a scan refers to exist.
  void read_scan(std::span<const std::byte> body) const {
    if (jpeg_.width == 0) fail("its JPEG data begins before its size is told");
    const auto number = [&](std::size_t at) { return std::to_integer<unsigned>(body[at]); };
    if (body.size() < 4 || number(0) == 0 || number(0) > 4 || body.size() != 4 + 2 * std::size_t{number(0)}) {
      fail(fmt::format("a JPEG scan header has {} bytes, expected 4 and 2 for each channel", body.size()));
    }
    const std::span<const std::byte> end = body.last(3);
    const bool from_dc = !progressive_ || end[0] == std::byte{0};
    const bool to_ac = !progressive_ || !from_dc;
    const bool refines = progressive_ && (end[2] & std::byte{0xF0}) != std::byte{0};
    for (std::size_t c = 0; c < number(0); ++c) {
      const unsigned tables = number(2 + 2 * c);
      const bool dc = tables / 16 < 4 && has_dc_.at(tables / 16);
      const bool ac = tables % 16 < 4 && has_ac_.at(tables % 16);
      if ((from_dc && !refines && !dc) || (to_ac && !ac)) fail("a JPEG scan uses a Huffman table that is not there");
    }
    for (const unsigned table : quantization_) {
      if (table > 3 || !has_quantization_.at(table)) fail("a JPEG channel uses a quantization table that is not there");
    }
  }

  std::span<const std::byte> file_;
  std::string_view where_;
  std::size_t max_pixels_;
  std::size_t position_ = 0;
  CheckedJpeg jpeg_;
  bool progressive_ = false;
  std::vector<unsigned> quantization_;  // by channel
  std::array<bool, 4> has_dc_ = {};
  std::array<bool, 4> has_ac_ = {};
  std::array<bool, 4> has_quantization_ = {};
};

}  // namespace

CheckedJpeg check_jpeg(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels) {
  return JpegReader(file, where, max_pixels).run();
}

}  // namespace headscope
