#pragma once

#include <cstddef>
#include <span>

namespace headscope {

/// While it lives, accesses to part of a map read the pages touched and none after them. Without it the system reads
/// ahead: 64 bytes of a file may cost megabytes. For samples: whole tensors are read faster ahead.
class WithoutReadAhead {
 public:
  explicit WithoutReadAhead(std::span<const std::byte> mapped) noexcept;
  WithoutReadAhead(const WithoutReadAhead&) = delete;
  WithoutReadAhead& operator=(const WithoutReadAhead&) = delete;
  ~WithoutReadAhead();

 private:
  std::span<const std::byte> pages_;
};

}  // namespace headscope
