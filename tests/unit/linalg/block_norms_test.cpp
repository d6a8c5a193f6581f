#include "headscope/linalg/block_norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/random.h"

namespace headscope {
namespace {

struct Stack {
  Stack(std::size_t count, std::size_t width, std::size_t d, std::uint64_t seed)
      : values(test::normals(count * width * d, seed)), view{values.data(), count, width, d} {}
  std::vector<float> values;
  FactorStack view;
};

double naive(const FactorStack& a, std::size_t i, const FactorStack& b, std::size_t j) {
  double sum = 0;
  for (std::size_t p = 0; p < a.width; ++p) {
    for (std::size_t q = 0; q < b.width; ++q) {
      double dot = 0;
      for (std::size_t k = 0; k < a.d; ++k) {
        dot += static_cast<double>(a.values[(i * a.width + p) * a.d + k]) *
               static_cast<double>(b.values[(j * b.width + q) * b.d + k]);
      }
      sum += dot * dot;
    }
  }
  return sum;
}

void expect_naive(const FactorStack& a, const FactorStack& b) {
  const std::size_t stride = b.count + 2;
  std::vector<float> out(a.count * stride, -1);
  cpu_block_norms()->compute(a, b, out.data(), stride);
  for (std::size_t i = 0; i < a.count; ++i) {
    for (std::size_t j = 0; j < stride; ++j) {
      if (j < b.count) {
        const double expected = naive(a, i, b, j);
        EXPECT_NEAR(out[i * stride + j], expected, expected * 1e-6) << i << "," << j;
      } else {
        EXPECT_EQ(out[i * stride + j], -1);
      }
    }
  }
}

TEST(BlockNorms, EqualsTheNaiveSumForAnyShape) {
  expect_naive(Stack(5, 3, 20, 1).view, Stack(4, 7, 20, 2).view);
  expect_naive(Stack(1, 1, 1, 3).view, Stack(1, 1, 1, 4).view);
  expect_naive(Stack(9, 64, 96, 5).view, Stack(13, 64, 96, 6).view);  // several tiles
  expect_naive(Stack(2, 500, 30, 7).view, Stack(3, 16, 30, 8).view);  // a matrix wider than a tile
}

TEST(BlockNorms, IsExactlySymmetricForAStackWithItself) {
  const Stack stack(20, 48, 64, 9);
  std::vector<float> out(20 * 20);
  cpu_block_norms()->compute(stack.view, stack.view, out.data(), 20);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 20; ++j) EXPECT_EQ(out[i * 20 + j], out[j * 20 + i]);
  }
  expect_naive(stack.view, stack.view);
}

TEST(BlockNorms, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Stack a(30, 32, 100, 10);
  const Stack b(25, 32, 100, 11);
  std::vector<float> one(30 * 25);
  std::vector<float> four(30 * 25);
  set_thread_count(1);
  cpu_block_norms()->compute(a.view, b.view, one.data(), 25);
  set_thread_count(4);
  cpu_block_norms()->compute(a.view, b.view, four.data(), 25);
  set_thread_count(0);
  EXPECT_EQ(one, four);
}

}  // namespace
}  // namespace headscope
