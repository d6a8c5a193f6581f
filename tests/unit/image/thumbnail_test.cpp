#include "headscope/image/thumbnail.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace headscope {
namespace {

Preprocessing normalization(std::size_t channels) {
  Preprocessing result;
  result.channels = channels;
  result.scale = 1.0 / 255;
  result.mean = {0.485F, 0.456F, 0.406F};
  result.std = {0.229F, 0.224F, 0.225F};
  result.mean.resize(channels);
  result.std.resize(channels);
  return result;
}

TEST(Thumbnail, UndoesTheNormalization) {
  Image image{16, 16, 3, {}};
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t c = 0; c < 3; ++c) image.levels.push_back(static_cast<std::uint8_t>((i + c) % 256));
  }
  const Preprocessing how = normalization(3);
  const Image shown = make_thumbnail(preprocess(image, how, "image").pixels, {16, 16}, how);
  EXPECT_EQ(shown.levels, image.levels);
}

TEST(Thumbnail, CutsAndReducesToTheLongestSide) {
  const Pixels pixels{1, 700, 650, std::vector<float>(700 * 650, 0.5F)};
  Preprocessing how;
  how.scale = 1.0 / 255;
  const Image cut = make_thumbnail(pixels, {640, 320}, how);
  EXPECT_EQ(cut.height, kThumbnailSide);
  EXPECT_EQ(cut.width, kThumbnailSide / 2);
  EXPECT_EQ(cut.channels, 3u);
  EXPECT_EQ(cut.levels.front(), 128);
  EXPECT_EQ(make_thumbnail(pixels, {320, 4}, how).width, 4u);
}

TEST(Thumbnail, ClipsWhatIsNoLevel) {
  const Pixels pixels{1, 1, 2, {-1e9F, 1e9F}};
  EXPECT_EQ(make_thumbnail(pixels, {1, 2}, normalization(1)).levels,
            (std::vector<std::uint8_t>{0, 0, 0, 255, 255, 255}));
}

TEST(Thumbnail, NamesWhatIsWrong) {
  const Pixels pixels{3, 2, 2, std::vector<float>(12)};
  for (const ImageSize size : {ImageSize{3, 2}, ImageSize{0, 2}}) {
    EXPECT_ERROR(make_thumbnail(pixels, size, {}), ErrorKind::kInvalidArgument, "cannot be cut");
  }
  const ImageSize all{2, 2};
  EXPECT_ERROR(make_thumbnail(pixels, all, normalization(1)), ErrorKind::kInvalidArgument, "with 1 means");
}

}  // namespace
}  // namespace headscope
