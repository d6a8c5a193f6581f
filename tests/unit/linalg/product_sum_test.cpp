#include "headscope/linalg/product_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/random.h"

namespace headscope {
namespace {

TEST(ProductSum, AddsUpTheProductsOfItsBatches) {
  const std::size_t m = 70, n = 9, k = 33, batches = 5;
  const auto a = test::normals(batches * m * k, 1);
  const auto b = test::normals(batches * n * k, 2);
  for (const bool turned : {false, true}) {
    // By rows, or the transpose of what is stored by rows.
    const auto view = [&](const std::vector<float>& values, std::size_t rows, std::size_t batch) {
      const float* data = values.data() + batch * rows * k;
      return turned ? MatrixView(data, k, rows, rows).transposed() : MatrixView(data, rows, k, k);
    };
    const DoubleMatrix found = product_sum(
        batches, [&](std::size_t i) { return view(a, m, i); }, [&](std::size_t i) { return view(b, n, i); }, false);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t batch = 0; batch < batches; ++batch) {
          for (std::size_t l = 0; l < k; ++l) {
            sum += static_cast<double>(view(a, m, batch)(i, l)) * static_cast<double>(view(b, n, batch)(j, l));
          }
        }
        ASSERT_NEAR(found(i, j), sum, 1e-4);
      }
    }
  }
}

TEST(ProductSum, WithItselfIsTheSameAndSymmetric) {
  const std::size_t m = 300, k = 20, batches = 3;  // more than a tile
  const auto a = test::normals(batches * m * k, 1);
  for (const bool turned : {false, true}) {
    const auto view = [&](std::size_t batch) {
      const float* data = a.data() + batch * m * k;
      return turned ? MatrixView(data, k, m, m).transposed() : MatrixView(data, m, k, k);
    };
    const DoubleMatrix found = product_sum(batches, view, view, true);
    const DoubleMatrix expected = product_sum(batches, view, view, false);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        ASSERT_EQ(found(i, j), found(j, i));
        ASSERT_NEAR(found(i, j), expected(i, j), 1e-4);
      }
    }
  }
}

TEST(ProductSum, DoesNotDependOnThreads) {
  const std::size_t m = 300, k = 20;
  const auto a = test::normals(3 * m * k, 1);
  const auto run = [&](std::size_t threads) {
    set_thread_count(threads);
    const auto view = [&](std::size_t batch) { return MatrixView(a.data() + batch * m * k, m, k, k); };
    const DoubleMatrix found = product_sum(3, view, view, true);
    set_thread_count(0);
    return std::vector<double>(found.values().begin(), found.values().end());
  };
  EXPECT_EQ(run(1), run(4));
}

}  // namespace
}  // namespace headscope
