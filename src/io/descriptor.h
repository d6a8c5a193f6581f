#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headscope {

/// An open file descriptor, closed on destruction; -1 for none. Closing does not change `errno`.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ < 0) return;
    const int error = errno;
    ::close(descriptor_);
    errno = error;
  }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace headscope
