#include "app/device/cuda_device.h"
#include "headscope/base/error.h"

namespace headscope::app {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::kBackend,
              "--device cuda: this headscope was built without CUDA; build it with 'cmake --preset cuda && cmake "
              "--build --preset cuda', or leave --device out");
}

}  // namespace

std::string cuda_device_identity(int /*device*/) {
  refuse();
}

std::unique_ptr<AffinityEngine> make_cuda_affinity_engine(int /*device*/, std::string_view /*precision*/,
                                                          std::size_t /*sharers*/, const DeviceLog& /*log*/) {
  refuse();
}

std::unique_ptr<TreeDistance> make_cuda_tree_distance(int /*device*/) {
  refuse();
}

}  // namespace headscope::app
