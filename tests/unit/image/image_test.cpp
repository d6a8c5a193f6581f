#include "headscope/image/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "support/golden_images.h"
#include "support/png_bytes.h"

namespace headscope {
namespace {

using namespace std::string_literals;

Image decode(const std::string& file, const ImageOptions& options = {}) {
  return decode_image(std::as_bytes(std::span(file)), "x.png", options);
}

// Largest distance between the decoded picture and PIL's.
double distance(const Image& image, const test::GoldenArray& expected) {
  EXPECT_EQ(image.height, expected.shape[0]);
  EXPECT_EQ(image.width, expected.shape[1]);
  EXPECT_EQ(image.levels.size(), expected.values.size());
  if (image.levels.size() != expected.values.size()) return 256;
  double largest = 0;
  for (std::size_t i = 0; i < image.levels.size(); ++i) {
    largest = std::max<double>(largest, std::abs(static_cast<float>(image.levels[i]) - expected.values[i]));
  }
  return largest;
}

TEST(Image, EqualsPilToTheLastBit) {
  const auto expected = NpzFile::open(test::golden_images_folder() / "expected.npz");
  std::map<std::string, int> count;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden_images_folder())) {
    const std::string kind = entry.path().extension().string();
    if (kind != ".png" && kind != ".jpg") continue;
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    EXPECT_EQ(distance(open_image(entry.path()), test::golden_image_array(expected, "decoded/" + name)), 0);
    EXPECT_EQ(distance(open_image(entry.path(), {.channels = 1}), test::golden_image_array(expected, "gray/" + name)),
              0);
    ++count[kind];
  }
  EXPECT_GE(count[".png"], 20);
  EXPECT_GE(count[".jpg"], 11);
}

TEST(Image, GetsTheChannelsThatAModelTakes) {
  const Image colors{1, 2, 3, {255, 0, 0, 10, 20, 30}};
  const Image gray = with_channels(colors, 1);
  EXPECT_EQ(gray.channels, 1);
  // (19595 R + 38470 G + 7471 B + 2^15) / 2^16
  EXPECT_EQ(gray.levels, (std::vector<std::uint8_t>{76, 18}));
  EXPECT_EQ(with_channels(gray, 3).levels, (std::vector<std::uint8_t>{76, 76, 76, 18, 18, 18}));
  EXPECT_EQ(with_channels(colors, 3).levels, colors.levels);
}

TEST(Image, IsNotTurnedAsItsExifSays) {
  const Image image = open_image(test::golden_images_folder() / "oriented.jpg");
  EXPECT_EQ(image.height, 70u);
  EXPECT_EQ(image.width, 33u);
}

TEST(Image, KeepsTheOrderOfRowsColumnsAndChannels) {
  const Image image = decode(test::png_file(test::png_header(2, 2, 8, 2), "\0abcdef\0ghijkl"s));
  EXPECT_EQ(image.height, 2u);
  EXPECT_EQ(image.width, 2u);
  EXPECT_EQ(image.channels, 3u);
  EXPECT_EQ(std::string(image.levels.begin(), image.levels.end()), "abcdefghijkl");
}

TEST(Image, DropsAlphaInsteadOfBlendingIt) {
  const Image image = decode(test::png_file(test::png_header(1, 1, 8, 6), "\0\xC8\x64\x32\0"s));
  EXPECT_EQ(image.levels, (std::vector<std::uint8_t>{200, 100, 50}));
}

TEST(Image, IgnoresWhatFollowsTheEndOfThePicture) {
  const std::string file = test::png_file(test::png_header(1, 1, 8, 0), "\0\x07"s);
  EXPECT_EQ(decode(file + "and a video").levels, decode(file).levels);
}

TEST(Image, IgnoresAuxiliaryChunksEvenDamagedOnes) {
  const std::string damaged = test::png_number(3) + "tEXtabcNOPE";
  const std::string header = test::png_header(1, 1, 8, 0);
  EXPECT_EQ(decode(test::png_file(header, "\0\x07"s, damaged)).levels,
            decode(test::png_file(header, "\0\x07"s)).levels);
}

}  // namespace
}  // namespace headscope
