// Device errors: one line each, of the kind that becomes exit code 5.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "cuda/device_test.h"
#include "support/expect_error.h"
#include "support/random.h"

namespace headscope {
namespace {

using CudaTrouble = test::OnDevice<testing::Test>;

std::vector<void*> take_all_memory() {
  std::vector<void*> taken;
  for (std::size_t bytes = std::size_t{1} << 38; bytes >= std::size_t{1} << 20; bytes /= 2) {
    void* memory = nullptr;
    while (cudaMalloc(&memory, bytes) == cudaSuccess) taken.push_back(memory);
  }
  static_cast<void>(cudaGetLastError());
  return taken;
}

TEST(CudaDevice, ThatIsNotThereIsOneLine) {
  for (const int device : {-1, 4711}) {
    try {
      static_cast<void>(cuda_affinity_engine(device));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      EXPECT_EQ(std::string(error.what()).substr(0, 4), "cuda");
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST_F(CudaTrouble, OutOfMemoryIsOneLineAndTheEngineGoesOn) {
  const auto engine = cuda_affinity_engine(0, Precision::kFloat32);
  Buffer<float> values(64 * 512 * 64);
  const std::vector<float> random = test::normals(values.size(), 1);
  std::copy(random.begin(), random.end(), values.data());
  FactorWeights weights;
  weights.outer = HeadWeights(Role::kO, 512, 64, std::move(values));
  for (std::size_t i = 0; i < 64; ++i) weights.heads.push_back(i);
  const std::vector<void*> taken = take_all_memory();
  EXPECT_ERROR(engine->prepare(weights), ErrorKind::kBackend, "out of device memory");
  EXPECT_LT(engine->capacity(1), std::size_t{1} << 28);
  for (void* memory : taken) ASSERT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(engine->prepare(weights)->ranks, std::vector<std::size_t>(64, 64));
}

}  // namespace
}  // namespace headscope
