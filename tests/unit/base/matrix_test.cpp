#include "headscope/base/matrix.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(Matrix, IsRowMajor) {
  Matrix matrix(2, 3);
  matrix(1, 0) = 5;
  EXPECT_EQ(matrix.values()[3], 5);
  EXPECT_EQ(matrix.row(1)[0], 5);
}

TEST(MatrixView, TransposesWithoutMovingAnything) {
  Matrix matrix(2, 3);
  matrix(1, 2) = 7;
  const MatrixView transposed = matrix.view().transposed();
  EXPECT_EQ(transposed.rows(), 3u);
  EXPECT_EQ(transposed(2, 1), 7);
  EXPECT_EQ(transposed.data(), matrix.values().data());
}

}  // namespace
}  // namespace headscope
