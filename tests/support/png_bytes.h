#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headscope::test {

/// A number in PNG's byte order.
[[nodiscard]] inline std::string png_number(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24u, 16u, 8u, 0u}) bytes.push_back(static_cast<char>(value >> shift & 0xFF));
  return bytes;
}

/// CRC-32, bit by bit.
[[nodiscard]] inline std::uint32_t png_checksum(std::string_view bytes) {
  std::uint32_t sum = ~0u;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (0xEDB88320u & (0u - (sum & 1u)));
  }
  return ~sum;
}

[[nodiscard]] inline std::string png_chunk(std::string_view type, std::string_view data) {
  const std::string sealed = std::string(type) + std::string(data);
  return png_number(static_cast<std::uint32_t>(data.size())) + sealed + png_number(png_checksum(sealed));
}

inline constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

[[nodiscard]] inline std::string png_header(std::uint32_t width, std::uint32_t height, int depth, int color,
                                            std::string_view rest = std::string_view("\0\0\0", 3)) {
  std::string data = png_number(width) + png_number(height);
  data.push_back(static_cast<char>(depth));
  data.push_back(static_cast<char>(color));
  return png_chunk("IHDR", data.append(rest));
}

/// Adler-32, the checksum of a zlib stream.
[[nodiscard]] inline std::string zlib_checksum(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return png_number(b << 16 | a);
}

/// Wraps less than 64 kB in a zlib stream with one stored block.
[[nodiscard]] inline std::string zlib_stored(std::string_view raw) {
  const auto byte = [](std::size_t value) { return static_cast<char>(value & 0xFF); };
  const std::string head = {
      '\x78', '\x01', '\x01', byte(raw.size()), byte(raw.size() >> 8), byte(~raw.size()), byte(~raw.size() >> 8)};
  return head + std::string(raw) + zlib_checksum(raw);
}

/// Builds a whole file; `extra` goes between header and data.
[[nodiscard]] inline std::string png_file(std::string_view header, std::string_view rows, std::string_view extra = "") {
  return std::string(kPngSignature) + std::string(header) + std::string(extra) + png_chunk("IDAT", zlib_stored(rows)) +
         png_chunk("IEND", "");
}

}  // namespace headscope::test
