#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace headscope {

/// Memory of one process that others on the same machine can map, given its address. Zero-initialized. Move-only.
///
/// Not a window of MPI_Win_allocate_shared. A window takes the same processor time (organize, 144 maps of 512 x 512,
/// two ranks: 6.0 s on the busiest rank, ours 5.9 s), but cannot fall back to messages: where /dev/shm is too small (64
/// MB by default in a container), Open MPI 4.1.4 returns an error on rank 0 and never returns on the others. It also
/// grows only by a blocking collective call, in which a rank does not notice that another has failed.
class SharedMemory {
 public:
  /// Identifies the memory; valid as long as the process that created it keeps it.
  struct Address {
    std::int32_t process = 0;
    std::int32_t descriptor = 0;
    std::uint64_t name = 0;  ///< Random, and therefore unique.
    std::uint64_t size = 0;

    friend bool operator==(const Address&, const Address&) = default;
  };

  SharedMemory() = default;
  /// \throws Error  kBackend if the system cannot provide it.
  explicit SharedMemory(std::size_t bytes);
  /// Maps the memory of another process; empty if it is not accessible: on another machine, or isolated on this one.
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
  int own_ = -1;  // file descriptor, in the process that created the memory
};

}  // namespace headscope
