#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device.h"

namespace headscope::cuda {

/// Device memory for prepared layers. Returned memory is kept for the next layer, since freeing device memory would
/// wait for all running products. Neither the owner nor any kernel may use memory after it was returned.
class LayerMemory : public std::enable_shared_from_this<LayerMemory> {
 public:
  /// Memory of one layer; returned on destruction.
  class Lease {
   public:
    Lease() = default;
    Lease(std::shared_ptr<LayerMemory> from, DeviceMemory memory)
        : from_(std::move(from)), memory_(std::move(memory)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (from_) from_->take_back(std::move(memory_));
    }
    [[nodiscard]] std::byte* data() const noexcept { return memory_.as<std::byte>(); }

   private:
    std::shared_ptr<LayerMemory> from_;
    DeviceMemory memory_;
  };

  explicit LayerMemory(const Device& device) : device_(device) {}

  /// \throws Error  kBackend if the device does not have enough memory.
  [[nodiscard]] Lease lease(std::size_t bytes);
  /// Bytes leased to layers plus bytes kept for reuse.
  [[nodiscard]] std::size_t held() const;

 private:
  void take_back(DeviceMemory memory) noexcept;

  Device device_;
  mutable std::mutex mutex_;
  std::vector<DeviceMemory> kept_;
  std::size_t held_ = 0;
};

}  // namespace headscope::cuda
