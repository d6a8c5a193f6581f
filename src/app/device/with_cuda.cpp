#include "app/device/cuda_device.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::app {

std::string cuda_device_identity(int device) {
  return headscope::cuda_device_identity(device);
}

std::unique_ptr<AffinityEngine> make_cuda_affinity_engine(int device, std::string_view precision, std::size_t sharers,
                                                          const DeviceLog& log) {
  const Precision chosen = precision == "bf16"      ? Precision::kBf16
                           : precision == "fp16"    ? Precision::kFp16
                           : precision == "float32" ? Precision::kFloat32
                                                    : Precision::kTf32;
  return cuda_affinity_engine(device, chosen, log, sharers);
}

std::unique_ptr<TreeDistance> make_cuda_tree_distance(int device) {
  return cuda_tree_distance(device);
}

}  // namespace headscope::app
