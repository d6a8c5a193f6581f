#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device.h"

namespace headscope::cuda {

/// Device memory for prepared layers. What a layer gives back is kept for the next one, since freeing device memory
/// would wait for all products under way. Whoever gives memory back does not use it any more, nor do kernels.
class LayerMemory : public std::enable_shared_from_this<LayerMemory> {
 public:
  /// A layer's; goes back by itself.
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

  /// \throws Error  kBackend if the device does not have that much.
  [[nodiscard]] Lease lease(std::size_t bytes);
  /// Bytes that layers have, and those kept for the next.
  [[nodiscard]] std::size_t held() const;

 private:
  void take_back(DeviceMemory memory) noexcept;

  Device device_;
  mutable std::mutex mutex_;
  std::vector<DeviceMemory> kept_;
  std::size_t held_ = 0;
};

}  // namespace headscope::cuda
