#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

namespace headscope::cuda {

/// \throws Error  kBackend "cuda: WHAT: runtime's message", unless `status` is success.
void check(cudaError_t status, const char* what);
/// Checks that the last kernel launch succeeded.
void check_launch(const char* kernel);

/// Properties of a device.
struct Device {
  int index = 0;
  std::string name = {};
  std::string identity = {};      ///< Unique across machines.
  std::size_t memory = 0;         ///< Total bytes.
  std::size_t shared_memory = 0;  ///< Bytes available to one thread block.

  /// Makes it the current device of the calling thread.
  void use() const;
  /// Bytes currently free.
  [[nodiscard]] std::size_t free_memory() const;
};

/// \throws Error  kBackend if there is no driver or no such device, or if the driver or the device is too old.
[[nodiscard]] Device open_device(int index);

/// Allocators for `Memory`.
struct OnDevice {
  /// \throws Error  kBackend if there is not enough memory.
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void free(void* data) noexcept;
};
struct Pinned {
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void free(void* data) noexcept;
};

/// Uninitialized memory. Move-only.
template <typename Where>
class Memory {
 public:
  Memory() = default;
  /// \throws Error  as `Where::allocate`.
  explicit Memory(std::size_t bytes) : data_(bytes == 0 ? nullptr : Where::allocate(bytes)), bytes_(bytes) {}
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory() {
    if (data_ != nullptr) Where::free(data_);
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  template <typename T = void>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// Grows to at least `bytes`; the contents are lost if it grows.
  void need(std::size_t bytes) {
    if (bytes <= bytes_) return;
    { const Memory freed(std::move(*this)); }  // free before allocating
    *this = Memory(bytes);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Device memory.
using DeviceMemory = Memory<OnDevice>;
/// Pinned host memory, which the device can read and write directly.
using PinnedMemory = Memory<Pinned>;

/// A CUDA stream: work that runs in order.
class Stream {
 public:
  /// An urgent stream has priority over others.
  explicit Stream(bool urgent = false);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  /// Waits until all queued work is done.
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA event: a point in a stream.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void record(const Stream& stream) const;
  /// Waits until the stream has passed it; returns immediately if it was never recorded.
  void wait() const;
  /// Makes `stream` wait for it.
  void hold(const Stream& stream) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace headscope::cuda
