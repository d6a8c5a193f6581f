#include "cuda/strassen_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cuda/blas.h"
#include "cuda/device.h"
#include "cuda/device_test.h"
#include "support/random.h"

namespace headscope::cuda {
namespace {

constexpr std::size_t kD = 48;

struct Layer {
  std::size_t heads;
  std::size_t h;
  std::vector<float> values;  // integers, so that sums and products are exact

  Layer(std::size_t count, std::size_t width, std::uint64_t seed) : heads(count), h(width) {
    values = test::normals(count * width * kD, seed);
    for (float& value : values) value = std::round(3 * value);
  }
  [[nodiscard]] float at(std::size_t head, std::size_t column, std::size_t k) const {
    return values[(head * h + column) * kD + k];
  }
};

double norm(const Layer& a, const Layer& b, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t x = 0; x < a.h; ++x) {
    for (std::size_t y = 0; y < b.h; ++y) {
      double product = 0;
      for (std::size_t k = 0; k < kD; ++k) product += static_cast<double>(a.at(i, x, k)) * b.at(j, y, k);
      sum += product * product;
    }
  }
  return sum;
}

DeviceMemory on_device(const std::vector<float>& values) {
  DeviceMemory memory(values.size() * sizeof(float));
  check(cudaMemcpy(memory.as(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "copy");
  return memory;
}

std::vector<float> fetch(const DeviceMemory& memory) {
  std::vector<float> values(memory.bytes() / sizeof(float));
  check(cudaMemcpy(values.data(), memory.as(), memory.bytes(), cudaMemcpyDeviceToHost), "copy");
  return values;
}

using Strassen = test::OnDevice<testing::Test>;

TEST_F(Strassen, GivesTheNormsOfEightProducts) {
  for (const auto& [h, w] : {std::pair<std::size_t, std::size_t>{16, 16}, {24, 8}, {7, 5}, {4, 300}}) {
    const Layer a(6, h, 1);
    const Layer b(10, w, 2);
    const Stream stream;
    const Blas blas(stream);
    const DeviceMemory memory[] = {on_device(a.values), on_device(b.values)};
    const WholeFactors whole[] = {{memory[0].as<float>(), 6 * h, kD}, {memory[1].as<float>(), 10 * w, kD}};
    const DeviceMemory sums[] = {DeviceMemory(kHalfSums * 3 * h * kD / 2 * sizeof(float)),
                                 DeviceMemory(kHalfSums * 5 * w * kD / 2 * sizeof(float))};
    for (const int side : {0, 1}) make_half_sums(whole[side], side == 0, sums[side].as<float>(), stream.get());
    const auto left = half_factors(whole[0], sums[0].as<float>(), true);
    const auto right = half_factors(whole[1], sums[1].as<float>(), false);
    // Heads 1 and 2 of each half of the source, 2 to 4 of each half of the target.
    const std::size_t m = 2 * h;
    const std::size_t n = 3 * w;
    const DeviceMemory products(kHalfProducts * m * n * sizeof(float));
    for (std::size_t p = 0; p < kHalfProducts; ++p) {
      blas.product(Precision::kFloat32, {left[p].values + h * left[p].stride, m, left[p].stride},
                   {right[p].values + 2 * w * right[p].stride, n, right[p].stride}, kD / 2,
                   products.as<float>() + p * m * n);
    }
    const DeviceMemory norms = on_device(std::vector<float>(6 * 10, -1.0F));
    block_norms_of_halves({products.as<float>(), 2, 3, h, w}, {1, 2, 10, false}, 3, 5, norms.as<float>(), stream.get());
    stream.wait();
    const std::vector<float> found = fetch(norms);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 10; ++j) {
        const double expected = i % 3 == 0 || j % 5 < 2 ? -1 : norm(a, b, i, j);
        ASSERT_NEAR(found[i * 10 + j], expected, 1e-6 * std::abs(expected)) << i << ", " << j << " of " << h;
      }
    }
  }
}

TEST_F(Strassen, RoundsItsSumsToTheNearestAndTiesToEven) {
  // All numbers are 1 + k 2^-10 with integer k, exact in TF32. Sums are in [2, 4), and every second one is a tie.
  constexpr std::size_t kColumns = 2;
  std::vector<float> values(kColumns * kD);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(i % 37) * 0x1p-10F;
  const Stream stream;
  const DeviceMemory memory = on_device(values);
  const DeviceMemory sums(kHalfSums * kD / 2 * sizeof(float));
  make_half_sums({memory.as<float>(), kColumns, kD}, true, sums.as<float>(), stream.get());
  stream.wait();
  const std::vector<float> found = fetch(sums);
  for (std::size_t k = 0; k < kD / 2; ++k) {
    const float sum = values[k] + values[kD + kD / 2 + k];
    EXPECT_EQ(found[k], std::nearbyint(sum * 0x1p9F) * 0x1p-9F) << k;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(found[k]) & 0x1fff, 0u);
  }
}

}  // namespace
}  // namespace headscope::cuda
