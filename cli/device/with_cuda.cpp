#include "cli/device/cuda_device.h"
#include "headscope/cuda/cuda_engine.h"

namespace headscope::cli {

std::unique_ptr<AffinityEngine> make_cuda_affinity_engine(int device, std::string_view precision,
                                                          const DeviceLog& log) {
  const Precision chosen = precision == "bf16"      ? Precision::kBf16
                           : precision == "fp16"    ? Precision::kFp16
                           : precision == "float32" ? Precision::kFloat32
                                                    : Precision::kTf32;
  return cuda_affinity_engine(device, chosen, log);
}

std::unique_ptr<TreeDistance> make_cuda_tree_distance(int device) {
  return cuda_tree_distance(device);
}

}  // namespace headscope::cli
