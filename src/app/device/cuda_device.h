#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "headscope/organize/tree_distance.h"
#include "headscope/relate/affinity_engine.h"

namespace headscope::app {

// What a build with CUDA has (with_cuda.cpp) and one without has not (without_cuda.cpp, which throws Error kBackend).
// CMake takes one of the two.

/// Hears what a person may want to know, one line a call.
using DeviceLog = std::function<void(const std::string&)>;

/// What tells a device from all others, on whatever machine.
[[nodiscard]] std::string cuda_device_identity(int device);
/// `precision` is tf32, fp16, bf16 or float32; `sharers` processes use the device at the same time.
[[nodiscard]] std::unique_ptr<AffinityEngine> make_cuda_affinity_engine(int device, std::string_view precision,
                                                                        std::size_t sharers, const DeviceLog& log);
[[nodiscard]] std::unique_ptr<TreeDistance> make_cuda_tree_distance(int device);

}  // namespace headscope::app
