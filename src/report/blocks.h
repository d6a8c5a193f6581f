#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headscope::report {

/// The base64 (RFC 4648) of bytes.
[[nodiscard]] std::string base64(std::span<const std::byte> bytes);

/// The zlib stream (RFC 1950) of bytes: what DecompressionStream("deflate") of a browser reads.
[[nodiscard]] std::vector<std::byte> compressed(std::span<const std::byte> bytes);

/// The data of a page: numbered blocks, each inflated by the page when it is needed.
class Blocks {
 public:
  /// \returns its number.
  std::size_t add(std::span<const std::byte> bytes);
  /// One <script> element a block; nothing in them but base64.
  [[nodiscard]] std::string html() const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace headscope::report
