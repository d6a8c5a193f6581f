#include "headscope/io/array_source.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

TEST(ArraySource, ReadsAnyPartOfWhatIsInMemory) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 1.0F);
  const ArraySource array(values, {2, 3, 4});
  EXPECT_EQ(array.size(), 24u);
  for (std::size_t first = 0; first <= 24; ++first) {
    for (std::size_t count = 0; first + count <= 24; ++count) {
      std::vector<float> out(count);
      array.read(first, out);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), values.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  }
  const ArraySource flat = array.reshaped({6, 4});
  EXPECT_EQ(flat.shape(), (Shape{6, 4}));
  std::vector<float> out(2);
  flat.read(22, out);
  EXPECT_EQ(out, (std::vector<float>{23, 24}));
}

TEST(ArraySource, AsksOnlyForWhatThereIs) {
  std::size_t asked = 0;
  const ArraySource array({3, 0}, [&](std::size_t, std::span<float>) { ++asked; });
  array.read(0, {});
  std::vector<float> one(1);
  EXPECT_ERROR(array.read(0, one), ErrorKind::kInvalidArgument, "elements 0 to 1 requested, but the array has 0");
  EXPECT_ERROR(array.read(std::numeric_limits<std::size_t>::max(), one), ErrorKind::kInvalidArgument, "has 0");
  EXPECT_EQ(asked, 0u);
}

TEST(ArraySource, RefusesShapesThatDoNotFit) {
  const std::vector<float> values(6);
  EXPECT_ERROR(ArraySource(values, {2, 4}), ErrorKind::kInvalidArgument,
               "6 values do not fill an array of shape [2, 4]");
  EXPECT_ERROR(ArraySource(values, {2, 3}).reshaped({5}), ErrorKind::kInvalidArgument,
               "cannot reshape an array of shape [2, 3] to [5]");
  const std::size_t large = std::size_t{1} << 40;
  EXPECT_ERROR(ArraySource({large, large}, {}), ErrorKind::kInvalidArgument, "more elements than 64 bits can count");
}

}  // namespace
}  // namespace headscope
