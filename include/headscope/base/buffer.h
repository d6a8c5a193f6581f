#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
extern "C" void __asan_poison_memory_region(void const volatile* begin, std::size_t size);
#endif

namespace headscope {

/// Fixed-size array, uninitialized on construction: for large results that are written once, where filling them with
/// zeros first would double the work. Aligned to a cache line, so that a SIMD vector never straddles two lines.
/// Movable, not copyable.
template <typename T>
requires std::is_arithmetic_v<T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : memory_(allocate(size)), data_(align(memory_.get())), size_(size) { close_end(); }
  /// Leaves `other` empty.
  Buffer(Buffer&& other) noexcept
      : memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::span<T> values() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {data_, size_}; }

 private:
  static constexpr std::size_t kLine = 64;

  // Does not use the aligned operator new: before version 2.38, glibc never reuses freed aligned memory for another
  // request of the same size, and the process grows.
  static std::unique_ptr<std::byte[]> allocate(std::size_t size) {
    if (size > (std::numeric_limits<std::size_t>::max() - kLine) / sizeof(T)) throw std::bad_array_new_length();
    return std::make_unique_for_overwrite<std::byte[]>(size * sizeof(T) + kLine);
  }
  static T* align(void* memory) noexcept {
    std::size_t space = 2 * kLine;
    return static_cast<T*>(std::align(kLine, kLine, memory, space));
  }
  // Poisons the padding after the last element, so that AddressSanitizer treats it as out of bounds.
  void close_end() noexcept {
#ifdef __SANITIZE_ADDRESS__
    const auto* end = reinterpret_cast<std::byte*>(data_ + size_);
    const auto rest = memory_.get() + size_ * sizeof(T) + kLine - end;
    __asan_poison_memory_region(end, static_cast<std::size_t>(rest));
#endif
  }

  std::unique_ptr<std::byte[]> memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace headscope
