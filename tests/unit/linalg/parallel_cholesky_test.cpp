#include "linalg/parallel_cholesky.h"

#include <gtest/gtest.h>

#include <vector>

#include "headscope/base/parallel.h"
#include "support/random.h"

namespace headscope {
namespace {

// B^T B + I.
std::vector<double> definite(std::size_t n) {
  const std::vector<float> b = test::normals(n * n, 3);
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) a[i + j * n] += static_cast<double>(b[k + i * n]) * b[k + j * n];
    }
    a[i + i * n] += 1;
  }
  return a;
}

// One tile, one and a bit, several.
TEST(ParallelCholesky, GivesTheMatrixBack) {
  for (const std::size_t n : {1u, 7u, 192u, 193u, 450u}) {
    const std::vector<double> a = definite(n);
    std::vector<double> r = a;
    ASSERT_TRUE(parallel_cholesky(n, r.data()));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i <= j; ++i) {
        double product = 0;
        for (std::size_t k = 0; k <= i; ++k) product += r[k + i * n] * r[k + j * n];
        ASSERT_NEAR(product, a[i + j * n], 1e-10 * static_cast<double>(n)) << n << ": " << i << ", " << j;
      }
    }
  }
}

TEST(ParallelCholesky, HasTheSameBitsOnAnyNumberOfThreads) {
  std::vector<double> one = definite(450);
  std::vector<double> three = one;
  set_thread_count(1);
  ASSERT_TRUE(parallel_cholesky(450, one.data()));
  set_thread_count(3);
  ASSERT_TRUE(parallel_cholesky(450, three.data()));
  set_thread_count(0);
  EXPECT_EQ(one, three);
}

// In the first tile, in a later one.
TEST(ParallelCholesky, SaysThatAMatrixIsNotDefinite) {
  for (const std::size_t at : {2u, 300u}) {
    std::vector<double> a = definite(450);
    a[at + at * 450] = -1;
    EXPECT_FALSE(parallel_cholesky(450, a.data()));
  }
}

}  // namespace
}  // namespace headscope
