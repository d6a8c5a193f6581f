#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace headscope::test {

/// A file that lives in memory as long as this object does, for readers that
/// want a path. Ends the process if the system has no room for it: there is no
/// point in fuzzing on.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("headscope-fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    while (size > 0) {
      const ssize_t written = ::write(fd_, data, size);
      if (written <= 0) std::abort();
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }

  [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace headscope::test
