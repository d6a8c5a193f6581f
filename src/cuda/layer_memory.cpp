#include "cuda/layer_memory.h"

#include <algorithm>

namespace headscope::cuda {

LayerMemory::Lease LayerMemory::lease(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  // The smallest buffer that is large enough, unless it is more than twice the size needed.
  auto best = kept_.end();
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    const bool fits = it->bytes() >= bytes && it->bytes() / 2 <= bytes;
    if (fits && (best == kept_.end() || it->bytes() < best->bytes())) best = it;
  }
  if (best != kept_.end()) {
    DeviceMemory memory = std::move(*best);
    kept_.erase(best);
    return {shared_from_this(), std::move(memory)};
  }
  device_.use();
  if (!kept_.empty() && device_.free_memory() < bytes) {
    for (const DeviceMemory& memory : kept_) held_ -= memory.bytes();
    kept_.clear();
  }
  DeviceMemory memory(bytes);
  held_ += memory.bytes();
  return {shared_from_this(), std::move(memory)};
}

std::size_t LayerMemory::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

void LayerMemory::take_back(DeviceMemory memory) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    kept_.push_back(std::move(memory));
  } catch (...) {
    held_ -= memory.bytes();  // `memory` is freed on return
  }
}

}  // namespace headscope::cuda
