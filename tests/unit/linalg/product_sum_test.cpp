#include "headscope/linalg/product_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/ranks.h"
#include "support/random.h"

namespace headscope {
namespace {

std::vector<float> bounds(std::size_t rows) {
  return std::vector<float>(rows, 6.0F);  // of normal numbers
}

TEST(ProductSum, AddsUpTheProductsOfItsBatches) {
  const std::size_t m = 70, n = 9, k = 33, batches = 5;
  const auto a = test::normals(batches * m * k, 1);
  const auto b = test::normals(batches * n * k, 2);
  for (const bool transposed : {false, true}) {
    // By rows, or the transpose of what is stored by rows.
    const auto view = [&](const std::vector<float>& values, std::size_t rows, std::size_t batch) {
      const float* data = values.data() + batch * rows * k;
      return transposed ? MatrixView(data, k, rows, rows).transposed() : MatrixView(data, rows, k, k);
    };
    ProductSum products(bounds(m), bounds(n), batches * k);
    products.add(
        batches, [&](std::size_t i) { return view(a, m, i); }, [&](std::size_t i) { return view(b, n, i); }, false);
    const DoubleMatrix found = products.values(false);
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
  for (const bool transposed : {false, true}) {
    const auto view = [&](std::size_t batch) {
      const float* data = a.data() + batch * m * k;
      return transposed ? MatrixView(data, k, m, m).transposed() : MatrixView(data, m, k, k);
    };
    const auto product = [&](bool symmetric) {
      ProductSum sum(bounds(m), bounds(m), batches * k);
      sum.add(batches, view, view, symmetric);
      return sum.values(symmetric);
    };
    const DoubleMatrix found = product(true);
    const DoubleMatrix expected = product(false);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        ASSERT_EQ(found(i, j), found(j, i));
        ASSERT_NEAR(found(i, j), expected(i, j), 1e-4);
      }
    }
  }
}

TEST(ProductSum, DoesNotDependOnThreadsNorOnHowBatchesAreDividedAmongRanks) {
  const std::size_t m = 300, k = 20, batches = 11;
  const auto a = test::normals(batches * m * k, 1);
  const auto run = [&](std::size_t threads, std::size_t parts) {
    set_thread_count(threads);
    ProductSum all(bounds(m), bounds(m), batches * k);
    for (std::size_t part = 0; part < parts; ++part) {
      const IndexRange mine = partition_range(batches, part, parts);
      const auto view = [&](std::size_t batch) { return MatrixView(a.data() + (mine.begin + batch) * m * k, m, k, k); };
      ProductSum sum(bounds(m), bounds(m), batches * k);
      sum.add(mine.size(), view, view, true);
      for (std::size_t i = 0; i < m * m; ++i) all.totals()[i] += sum.totals()[i];
    }
    set_thread_count(0);
    const DoubleMatrix found = all.values(true);
    return std::vector<double>(found.values().begin(), found.values().end());
  };
  const auto expected = run(1, 1);
  EXPECT_EQ(run(4, 1), expected);
  EXPECT_EQ(run(2, 3), expected);
  EXPECT_EQ(run(1, 20), expected);  // some have none
}

// Rows that are a million times smaller than others keep their digits.
TEST(ProductSum, HasUnitsOfItsOwnForEveryPairOfRows) {
  const std::size_t m = 4, k = 50;
  std::vector<float> a = test::normals(m * k, 1);
  for (std::size_t i = 0; i < k; ++i) a[i] *= 1e-12F;
  const std::vector<float> largest = {6e-12F, 6, 6, 6};
  const auto view = [&](std::size_t) { return MatrixView(a.data(), m, k, k); };
  ProductSum sum(largest, largest, k);
  sum.add(1, view, view, true);
  const DoubleMatrix found = sum.values(true);
  double expected = 0;
  for (std::size_t i = 0; i < k; ++i) expected += static_cast<double>(a[i]) * static_cast<double>(a[i]);
  EXPECT_NEAR(found(0, 0), expected, 1e-6 * expected);
}

}  // namespace
}  // namespace headscope
