#include "headscope/linalg/transpose.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/on_every_target.h"

namespace headscope {
namespace {

TEST(Transpose, MovesEveryElementAndNothingElseOnEveryTarget) {
  test::on_every_target([] {
    for (const std::size_t rows : {1u, 3u, 4u, 8u, 13u, 32u}) {
      for (const std::size_t columns : {1u, 4u, 7u, 8u, 16u, 37u}) {
        const std::size_t in_stride = columns + 3;
        const std::size_t out_stride = rows + 2;
        std::vector<float> in(rows * in_stride);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
        std::vector<float> out(columns * out_stride, -1);
        transpose(in.data(), in_stride, rows, columns, out.data(), out_stride);
        for (std::size_t j = 0; j < columns; ++j) {
          for (std::size_t i = 0; i < out_stride; ++i) {
            const float expected = i < rows ? in[i * in_stride + j] : -1;
            ASSERT_EQ(out[j * out_stride + i], expected) << rows << "x" << columns << " at " << i << "," << j;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace headscope
