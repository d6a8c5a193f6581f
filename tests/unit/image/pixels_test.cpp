#include "headscope/image/pixels.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "headscope/io/npy.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

template <typename T = float>
std::filesystem::path save(const test::TemporaryFolder& folder, const Shape& shape) {
  std::vector<T> values(*element_count(shape));
  std::iota(values.begin(), values.end(), T{0});
  write_npy<T>(folder.path() / "x.npy", values, shape);
  return folder.path() / "x.npy";
}

TEST(ReadPixels, TakesOneImageOrSeveral) {
  const test::TemporaryFolder folder;
  const auto one = read_pixels(save(folder, {3, 2, 4}), 3);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].channels, 3u);
  EXPECT_EQ(one[0].height, 2u);
  EXPECT_EQ(one[0].width, 4u);
  EXPECT_EQ(one[0].values[23], 23);
  const auto two = read_pixels(save<double>(folder, {2, 3, 2, 4}), 3);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].values.size(), 24u);
  EXPECT_EQ(two[1].values[0], 24);
}

TEST(ReadPixels, TakesAPlainMatrixForGrayModels) {
  const test::TemporaryFolder folder;
  const auto path = save(folder, {5, 7});
  EXPECT_EQ(read_pixels(path, 1).at(0).height, 5u);
  EXPECT_ERROR(read_pixels(path, 3), ErrorKind::kInvalidArgument,
               "x.npy: has shape [5, 7], expected [3, height, width] or [images, 3, height, width]");
}

TEST(ReadPixels, RefusesOtherShapes) {
  const test::TemporaryFolder folder;
  for (const Shape& shape : std::vector<Shape>{{}, {12}, {2, 4, 3}, {1, 1, 3, 2, 4}, {1, 2, 4}}) {
    EXPECT_ERROR(read_pixels(save(folder, shape), 3), ErrorKind::kInvalidArgument, "has shape " + to_string(shape));
  }
  for (const Shape& shape : std::vector<Shape>{{3, 0, 4}, {0, 3, 2, 4}}) {
    EXPECT_ERROR(read_pixels(save(folder, shape), 3), ErrorKind::kInvalidArgument, "no pixels");
  }
}

TEST(ReadPixels, RefusesLevels) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("u8.npy", npy_header({'u', 1, false}, Shape{3, 1, 1}) + "abc");
  EXPECT_ERROR(read_pixels(file, 3), ErrorKind::kUnsupported, "u8.npy: holds unsigned integers of 8 bits");
  EXPECT_ERROR(read_pixels(file, 3), ErrorKind::kUnsupported, "or pass the image with --image");
  EXPECT_ERROR(read_pixels(save<std::int64_t>(folder, {3, 1, 1}), 3), ErrorKind::kUnsupported, "integers of 64 bits");
}

TEST(ReadPixels, RefusesNanAndInfinity) {
  const test::TemporaryFolder folder;
  std::vector<float> values(2 * 3 * 2 * 4, 0);
  values[24 + 8 + 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  write_npy<float>(folder.path() / "x.npy", values, Shape{2, 3, 2, 4});
  EXPECT_ERROR(read_pixels(folder.path() / "x.npy", 3), ErrorKind::kNumeric,
               "image 1, channel 1, row 1, column 3 is nan");
  values[2] = -std::numeric_limits<float>::infinity();
  write_npy<float>(folder.path() / "x.npy", values, Shape{2, 3, 2, 4});
  EXPECT_ERROR(read_pixels(folder.path() / "x.npy", 3), ErrorKind::kNumeric,
               "image 0, channel 0, row 0, column 2 is -inf");
}

TEST(ReadPixels, RefusesWhatIsNoArray) {
  const test::TemporaryFolder folder;
  EXPECT_ERROR(read_pixels(folder.write("x.npy", "hello"), 3), ErrorKind::kFormat, "not an npy array");
  EXPECT_ERROR(read_pixels(folder.path() / "none.npy", 3), ErrorKind::kIo, "none.npy: cannot open");
}

}  // namespace
}  // namespace headscope
