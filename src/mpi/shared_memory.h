#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace headscope {

/// Memory of one process that others on the same machine can map too, once they know where it is. Begins with zeros.
/// Moves; does not copy.
class SharedMemory {
 public:
  /// Where it is: good as long as the process that made it keeps it.
  struct Address {
    std::int32_t process = 0;
    std::int32_t descriptor = 0;
    std::uint64_t name = 0;  ///< Drawn at random: no other memory has it.
    std::uint64_t size = 0;

    friend bool operator==(const Address&, const Address&) = default;
  };

  SharedMemory() = default;
  /// \throws Error  kBackend if the system has none.
  explicit SharedMemory(std::size_t bytes);
  /// That of another process; nothing if it cannot be reached: not on this machine, or behind a wall on it.
  [[nodiscard]] static std::optional<SharedMemory> open(const Address& address);

  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] const Address& address() const noexcept { return address_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  void swap(SharedMemory& other) noexcept;

  Address address_;
  std::span<std::byte> bytes_;
  int own_ = -1;  // descriptor, of who made it
};

}  // namespace headscope
