#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headscope::report {

/// Encodes bytes as base64 (RFC 4648).
[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

/// Compresses bytes to a zlib stream (RFC 1950), the format of a browser's DecompressionStream("deflate").
[[nodiscard]] std::vector<std::byte> compressed(std::span<const std::byte> bytes);

/// The data of a page: numbered blocks, each decompressed by the page when needed.
class Blocks {
 public:
  /// \returns the number of the new block.
  std::size_t add(std::span<const std::byte> bytes);
  /// One <script> element per block, containing only base64.
  [[nodiscard]] std::string html() const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace headscope::report
