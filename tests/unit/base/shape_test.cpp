#include "headscope/base/shape.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(ElementCount, MultipliesExtents) {
  EXPECT_EQ(element_count(Shape{3, 4, 5}), 60u);
  EXPECT_EQ(element_count(Shape{}), 1u);
}

TEST(ElementCount, IsNothingWhenTheProductDoesNotFit) {
  EXPECT_EQ(element_count(Shape{std::size_t{1} << 32, std::size_t{1} << 32}), std::nullopt);
}

TEST(ElementCount, IsZeroWithAZeroExtentHoweverLargeTheOthers) {
  EXPECT_EQ(element_count(Shape{std::size_t{1} << 63, 4, 0}), 0u);
}

TEST(ShapeToString, LooksLikeAPythonList) {
  EXPECT_EQ(to_string(Shape{768, 2304}), "[768, 2304]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape(1'000'000, 1)), "[1, 1, 1, 1, 1, 1, 1, 1, ...] (1000000 axes)");
}

}  // namespace
}  // namespace headscope
