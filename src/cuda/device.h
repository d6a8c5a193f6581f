#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

namespace headscope::cuda {

/// \throws Error  kBackend "cuda: WHAT: what the runtime says", unless all is well.
void check(cudaError_t status, const char* what);
/// After a kernel was launched.
void check_launch(const char* kernel);

/// What is known of a device.
struct Device {
  int index = 0;
  std::string name = {};
  std::string identity = {};      ///< What tells it from all others.
  std::size_t memory = 0;         ///< Bytes, all of it.
  std::size_t shared_memory = 0;  ///< Bytes that one block of threads may have.

  /// Makes it the calling thread's.
  void use() const;
  /// Bytes that nobody has at the moment.
  [[nodiscard]] std::size_t free_memory() const;
};

/// \throws Error  kBackend if there is no driver, no such device, or the driver or the device is too old.
[[nodiscard]] Device open_device(int index);

/// Where memory comes from and goes back to.
struct OnDevice {
  /// \throws Error  kBackend if there is not that much.
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void free(void* data) noexcept;
};
struct Pinned {
  [[nodiscard]] static void* allocate(std::size_t bytes);
  static void free(void* data) noexcept;
};

/// Uninitialized memory. Moves; does not copy.
template <typename Where>
class Memory {
 public:
  Memory() = default;
  /// \throws Error  as `Where` says.
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
  /// Makes it larger if it is smaller; what it held is lost.
  void need(std::size_t bytes) {
    if (bytes <= bytes_) return;
    { const Memory freed(std::move(*this)); }  // before the new one is asked for
    *this = Memory(bytes);
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory of a device.
using DeviceMemory = Memory<OnDevice>;
/// Memory of this machine that the device reads and writes by itself.
using PinnedMemory = Memory<Pinned>;

/// Work that is done in order.
class Stream {
 public:
  /// An urgent one goes first where several could go on.
  explicit Stream(bool urgent = false);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }
  /// Until all of it is done.
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  void record(const Stream& stream) const;
  /// Until the stream has passed it; at once if it was never recorded.
  void wait() const;
  /// `stream` goes on only after it.
  void hold(const Stream& stream) const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace headscope::cuda
