#include "headscope/linalg/matrix_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/random.h"

namespace headscope {
namespace {

using test::normals;

// A matrix of its own in a larger one, as it is or transposed.
struct Stored {
  Stored(std::size_t rows, std::size_t columns, bool transposed, std::uint64_t seed)
      : stride((transposed ? rows : columns) + 3),
        values(normals((transposed ? columns : rows) * stride + 3, seed)),
        view(transposed ? MatrixView(values.data(), columns, rows, stride).transposed()
                        : MatrixView(values.data(), rows, columns, stride)) {}
  std::size_t stride;
  std::vector<float> values;
  MatrixView view;
};

void check(std::size_t m, std::size_t k, std::size_t n, bool a_transposed, bool b_transposed, float alpha, float beta,
           bool parallel) {
  const Stored a(m, k, a_transposed, 1);
  const Stored b(k, n, b_transposed, 2);
  const std::vector<float> before = normals(m * (n + 2), 3);
  std::vector<float> c = before;
  // Not read where beta is 0.
  if (beta == 0) std::fill(c.begin(), c.end(), std::nanf(""));
  const MatrixSpan span(c.data(), m, n, n + 2);
  (parallel ? parallel_multiply : multiply)(a.view, b.view, span, alpha, beta);
  const double tolerance = 1e-6 * (static_cast<double>(k) + 4);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<double>(a.view(i, l)) * static_cast<double>(b.view(l, j));
      sum *= static_cast<double>(alpha);
      if (beta != 0) sum += static_cast<double>(beta) * static_cast<double>(before[i * (n + 2) + j]);
      ASSERT_NEAR(c[i * (n + 2) + j], sum, tolerance) << m << "x" << k << "x" << n << " at " << i << "," << j;
    }
    if (beta != 0) {
      EXPECT_EQ(c[i * (n + 2) + n], before[i * (n + 2) + n]) << "written beside the result";
    }
  }
}

TEST(MatrixProduct, IsTheSumOfProductsForEveryOrderAndStride) {
  for (const auto& [m, k, n] : {std::tuple{1u, 1u, 1u}, {1u, 7u, 5u}, {5u, 1u, 7u}, {6u, 9u, 1u}, {13u, 17u, 19u}}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        for (const bool parallel : {false, true}) {
          check(m, k, n, a, b, 1, 0, parallel);
          check(m, k, n, a, b, 0.5F, 1, parallel);
        }
      }
    }
  }
}

// More than one piece, by columns and by rows, with a rest.
TEST(MatrixProduct, InPiecesIsTheSame) {
  check(3, 5, 1001, false, true, 1, 0, /*parallel=*/true);
  check(1001, 5, 3, true, false, 2, 1, /*parallel=*/true);
  check(400, 3, 790, false, false, 1, 0, /*parallel=*/true);
}

TEST(MatrixProduct, HasTheSameBitsForAnyNumberOfThreads) {
  const Stored a(37, 64, false, 5);
  const Stored b(64, 1500, true, 6);
  std::vector<std::vector<float>> results;
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    set_thread_count(threads);
    results.emplace_back(37 * 1500);
    parallel_multiply(a.view, b.view, MatrixSpan(results.back().data(), 37, 1500, 1500));
  }
  set_thread_count(0);
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST(MatrixProduct, OfNothingIsNothingOrZero) {
  std::vector<float> c = {7, 7};
  const std::vector<float> none(4);
  multiply(MatrixView(none.data(), 0, 2, 2), MatrixView(none.data(), 2, 2, 2), MatrixSpan(c.data(), 0, 2, 2));
  EXPECT_EQ(c, (std::vector<float>{7, 7}));
  multiply(MatrixView(none.data(), 1, 0, 1), MatrixView(none.data(), 0, 2, 2), MatrixSpan(c.data(), 1, 2, 2));
  EXPECT_EQ(c, (std::vector<float>{0, 0}));
}

TEST(MatrixProduct, RefusesWhatDoesNotFit) {
  std::vector<float> x(64);
  const MatrixView square(x.data(), 4, 4, 4);
  EXPECT_THROW(multiply(square, MatrixView(x.data(), 3, 4, 4), MatrixSpan(x.data(), 4, 4, 4)), std::logic_error);
  EXPECT_THROW(multiply(square, square, MatrixSpan(x.data(), 4, 3, 3)), std::logic_error);
  EXPECT_THROW(multiply(MatrixView(x.data(), 4, 4, 8, 2), square, MatrixSpan(x.data(), 4, 4, 4)), std::logic_error);
}

}  // namespace
}  // namespace headscope
