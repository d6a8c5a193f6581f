#include "headscope/organize/paraproduct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect_error.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tree.h"

namespace headscope {
namespace {

DoubleMatrix random_matrix(std::size_t n, std::size_t m, double scale, std::uint64_t seed) {
  const auto values = test::normals(n * m, seed);
  DoubleMatrix matrix(n, m);
  for (std::size_t i = 0; i < values.size(); ++i) matrix.values()[i] = scale * static_cast<double>(values[i]);
  return matrix;
}

// P_jk f at one entry.
double projected(const DoubleMatrix& f, const PartitionTree& rows, std::size_t j, const PartitionTree& columns,
                 std::size_t k, std::size_t row, std::size_t column) {
  const auto folder_of = [](const PartitionTree& tree, std::size_t level, std::size_t element) {
    const auto levels = test::levels_of(tree);
    for (const auto& folder : levels[level]) {
      for (const std::size_t e : folder) {
        if (e == element) return folder;
      }
    }
    return std::vector<std::size_t>{};
  };
  double sum = 0;
  const auto is = folder_of(rows, j, row);
  const auto js = folder_of(columns, k, column);
  for (const std::size_t a : is) {
    for (const std::size_t b : js) sum += f(a, b);
  }
  return sum / static_cast<double>(is.size() * js.size());
}

TEST(Paraproduct, TelescopesExactly) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::size_t n = 1 + 11 * seed;
    const std::size_t m = 40 - 3 * seed;
    const DoubleMatrix f = random_matrix(n, m, 1, seed);
    const Paraproduct parts = paraproduct(f, test::random_tree(n, seed), test::random_tree(m, seed + 1));
    for (std::size_t i = 0; i < n * m; ++i) {
      ASSERT_NEAR(parts.target.values()[i], std::exp(f.values()[i]), 1e-12);
      ASSERT_NEAR(parts.telescoped.values()[i], parts.target.values()[i], 1e-12);
    }
  }
}

TEST(Paraproduct, EqualsItsDefinitionEntryByEntry) {
  const std::size_t n = 9;
  const std::size_t m = 7;
  const DoubleMatrix f = random_matrix(n, m, 0.7, 3);
  const PartitionTree rows = test::random_tree(n, 1);
  const PartitionTree columns = test::random_tree(m, 2);
  const SmoothFunction sine = {[](double x) { return std::sin(x); }, [](double x) { return std::cos(x); },
                               [](double x) { return -std::sin(x); }};
  for (const auto boundary : {BoundaryOrder::kFirst, BoundaryOrder::kSecond}) {
    const Paraproduct parts = paraproduct(f, rows, columns, sine, {boundary});
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < m; ++c) {
        const auto p = [&](std::size_t j, std::size_t k) { return projected(f, rows, j, columns, k, r, c); };
        double first = std::sin(p(0, 0));
        double second = first;
        const auto single = [&](double coarse, double fine) {
          const double d = fine - coarse;
          first += std::cos(coarse) * d;
          second += std::cos(coarse) * d - (boundary == BoundaryOrder::kSecond ? std::sin(coarse) * d * d / 2 : 0);
        };
        for (std::size_t j = 0; j + 1 < rows.level_count(); ++j) single(p(j, 0), p(j + 1, 0));
        for (std::size_t k = 0; k + 1 < columns.level_count(); ++k) single(p(0, k), p(0, k + 1));
        for (std::size_t j = 0; j + 1 < rows.level_count(); ++j) {
          for (std::size_t k = 0; k + 1 < columns.level_count(); ++k) {
            const double d = p(j + 1, k + 1) - p(j + 1, k) - p(j, k + 1) + p(j, k);
            first += std::cos(p(j, k)) * d;
            second += std::cos(p(j, k)) * d - std::sin(p(j, k)) * (p(j + 1, k) - p(j, k)) * (p(j, k + 1) - p(j, k));
          }
        }
        ASSERT_NEAR(parts.first_order(r, c), first, 1e-12);
        ASSERT_NEAR(parts.second_order(r, c), second, 1e-12);
      }
    }
  }
}

TEST(Paraproduct, IsExactForALinearFunction) {
  const DoubleMatrix f = random_matrix(20, 15, 1, 5);
  const SmoothFunction line = {[](double x) { return 3 * x - 1; }, [](double) { return 3.0; },
                               [](double) { return 0.0; }};
  const Paraproduct parts = paraproduct(f, test::random_tree(20, 1), test::random_tree(15, 2), line);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_NEAR(parts.second_order.values()[i], parts.target.values()[i], 1e-12);
}

TEST(Paraproduct, ComesCloserWithTheSecondOrder) {
  const DoubleMatrix f = random_matrix(32, 32, 0.2, 5);
  const PartitionTree rows = test::random_tree(32, 1);
  const PartitionTree columns = test::random_tree(32, 2);
  const auto error = [&](BoundaryOrder boundary, bool second) {
    const Paraproduct parts = paraproduct(f, rows, columns, exponential(), {boundary});
    const DoubleMatrix& approximation = second ? parts.second_order : parts.first_order;
    double sum = 0;
    for (std::size_t i = 0; i < 1024; ++i) sum += std::pow(approximation.values()[i] - parts.target.values()[i], 2);
    return sum;
  };
  EXPECT_LT(error(BoundaryOrder::kSecond, true), error(BoundaryOrder::kFirst, false));
}

TEST(Paraproduct, RefusesTreesThatDoNotFit) {
  EXPECT_ERROR(paraproduct(DoubleMatrix(3, 4), test::random_tree(4, 1), test::random_tree(3, 1)),
               ErrorKind::kInvalidArgument, "the matrix is 3 x 4, but the trees have 4 and 3 elements");
}

}  // namespace
}  // namespace headscope
