#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace headscope {

/// A fixed number of numbers that begin uninitialized: for large results that
/// are written once, where filling them with zeros first would double the work.
/// Begins at a cache line, so that a vector of numbers never straddles two.
/// Moves; does not copy.
template <typename T>
requires std::is_arithmetic_v<T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(new (kLine) T[size]), size_(size) {}
  /// The other one is empty afterwards.
  Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::span<T> values() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(T* data) const noexcept { ::operator delete[](data, kLine); }
  };

  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace headscope
