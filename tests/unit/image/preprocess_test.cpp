#include "headscope/image/preprocess.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "support/expect_error.h"
#include "support/golden_images.h"

namespace headscope {
namespace {

Image noise(std::size_t height, std::size_t width, std::size_t channels = 3) {
  Image image{height, width, channels, {}};
  for (std::size_t i = 0; i < height * width * channels; ++i) {
    image.levels.push_back(static_cast<std::uint8_t>(i * 2654435761u >> 13));
  }
  return image;
}

Preprocessing resize_to(std::size_t height, std::size_t width, Resample filter) {
  Preprocessing result;
  result.resize = ResizeTo::kSize;
  result.size = {height, width};
  result.resample = filter;
  return result;
}

struct NamedFilter {
  std::string name;
  Resample filter;
};

const std::vector<NamedFilter> kFilters = {{"nearest", Resample::kNearest},
                                           {"lanczos", Resample::kLanczos},
                                           {"bilinear", Resample::kBilinear},
                                           {"bicubic", Resample::kBicubic},
                                           {"box", Resample::kBox}};

TEST(Preprocess, KeepsAFlatImageFlat) {
  for (const auto& [name, filter] : kFilters) {
    for (const std::size_t edge : {1u, 3u, 31u, 64u}) {
      SCOPED_TRACE(fmt::format("{} {}", name, edge));
      Image image{13, 29, 1, std::vector<std::uint8_t>(13 * 29, 77)};
      Preprocessing how = resize_to(edge, edge + 2, filter);
      how.channels = 1;
      const Pixels pixels = preprocess(image, how, "x").pixels;
      EXPECT_EQ(pixels.values, std::vector<float>(edge * (edge + 2), 77));
    }
  }
}

TEST(Preprocess, MirrorsWithTheImage) {
  Image image = noise(23, 40);
  Image mirrored = image;
  for (std::size_t y = 0; y < 23; ++y) {
    for (std::size_t x = 0; x < 40; ++x) {
      for (std::size_t c = 0; c < 3; ++c)
        mirrored.levels[(y * 40 + x) * 3 + c] = image.levels[(y * 40 + 39 - x) * 3 + c];
    }
  }
  for (const Resample filter : {Resample::kBilinear, Resample::kBicubic, Resample::kLanczos}) {
    const Preprocessing how = resize_to(10, 16, filter);
    const Pixels a = preprocess(image, how, "x").pixels;
    const Pixels b = preprocess(mirrored, how, "x").pixels;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      EXPECT_LE(std::abs(a.values[i] - b.values[i / 16 * 16 + 15 - i % 16]), 1);
    }
  }
}

TEST(Preprocess, DoesNotDependOnTheNumberOfThreads) {
  const Image image = noise(97, 113);
  const Preprocessing how = resize_to(40, 50, Resample::kBicubic);
  set_thread_count(1);
  const auto one = preprocess(image, how, "x").pixels.values;
  set_thread_count(5);
  const auto five = preprocess(image, how, "x").pixels.values;
  set_thread_count(0);
  EXPECT_EQ(one, five);
}

TEST(Preprocess, ResizesLevelByLevelAsPilDoes) {
  const auto expected = NpzFile::open(test::golden_images_folder() / "expected.npz");
  std::size_t count = 0;
  for (const std::string image_name : {"rgb.png", "gray.png"}) {
    const std::size_t channels = image_name == "gray.png" ? 1 : 3;
    const Image image = open_image(test::golden_images_folder() / image_name, {.channels = channels});
    for (const auto& [name, filter] : kFilters) {
      for (const auto& [height, width] : std::vector<ImageSize>{{16, 23}, {53, 24}, {45, 20}, {1, 1}, {3, 61}}) {
        const std::string key = fmt::format("resized/{}/{}/{}x{}", image_name, name, height, width);
        SCOPED_TRACE(key);
        Preprocessing how = resize_to(height, width, filter);
        how.channels = channels;
        const Pixels pixels = preprocess(image, how, "x").pixels;
        const test::GoldenArray golden = test::golden_image_array(expected, key);
        ASSERT_EQ(pixels.values.size(), golden.values.size());
        for (std::size_t i = 0; i < pixels.values.size(); ++i) {
          const std::size_t channel = i / (height * width);
          ASSERT_EQ(pixels.values[i], golden.values[i % (height * width) * channels + channel]) << i;
        }
        ++count;
      }
    }
  }
  EXPECT_EQ(count, 50u);
}

// Compares with what transformers' and timm's own code gives for the same files. Returns the number of cases.
std::size_t compare_with_processors(const std::string& kind, float tolerance) {
  const auto expected = NpzFile::open(test::golden_images_folder() / (kind + "expected.npz"));
  const auto cases = JsonDocument::open(test::golden_images_folder() / (kind + "cases.json"));
  std::size_t count = 0;
  for (const JsonValue entry : cases.root().items()) {
    const std::string name(*entry.find("name").as_string());
    const std::string picture(*entry.find("image").as_string());
    SCOPED_TRACE(name);
    const JsonValue root = entry.find("preprocessor");
    const JsonValue config = entry.find("config");
    const Preprocessing how =
        root.is_null() ? parse_timm_config(config, "x") : parse_preprocessor_config(root, config, "x");
    const Pixels pixels = open_preprocessed(test::golden_images_folder() / picture, how).pixels;

    Shape whole;
    for (const JsonValue extent : entry.find("shape").items()) whole.push_back(*extent.as_unsigned());
    EXPECT_EQ((Shape{pixels.channels, pixels.height, pixels.width}), whole);
    if (testing::Test::HasFailure()) return count;
    const std::size_t stride = *entry.find("stride").as_unsigned();
    const test::GoldenArray golden = test::golden_image_array(expected, "case/" + name);
    // Levels are equal, so that only floats are rounded differently.
    std::size_t i = 0;
    for (std::size_t c = 0; c < pixels.channels; ++c) {
      for (std::size_t y = 0; y < pixels.height; y += stride) {
        for (std::size_t x = 0; x < pixels.width; x += stride, ++i) {
          const float value = pixels.values[(c * pixels.height + y) * pixels.width + x];
          EXPECT_NEAR(value, golden.values.at(i), tolerance * std::max(1.0F, std::abs(value))) << i;
          if (testing::Test::HasFailure()) return count;
        }
      }
    }
    EXPECT_EQ(i, golden.values.size());
    ++count;
  }
  return count;
}

TEST(Preprocess, GivesThePixelValuesOfTheImageProcessors) {
  EXPECT_EQ(compare_with_processors("", 3e-7F), 33u);
}

// DINOv3's processor resizes floats, with weights that are floats, too.
TEST(Preprocess, GivesThePixelValuesOfTheImageProcessorsOfNewerFamilies) {
  EXPECT_EQ(compare_with_processors("tower_", 2e-6F), 18u);
}

TEST(Preprocess, KnowsWhichPartOfThePictureIsShown) {
  Preprocessing how;
  how.resize = ResizeTo::kShortestEdge;
  how.size = {50, 50};
  how.crop = ImageSize{40, 40};
  const PreprocessedImage result = preprocess(noise(100, 200), how, "x");  // resized to 50 x 100
  EXPECT_EQ(result.original, (ImageSize{100, 200}));
  EXPECT_DOUBLE_EQ(result.shown.top, 10);
  EXPECT_DOUBLE_EQ(result.shown.bottom, 90);
  EXPECT_DOUBLE_EQ(result.shown.left, 60);
  EXPECT_DOUBLE_EQ(result.shown.right, 140);
  const PixelBox patch = result.in_original({8, 16, 16, 24});
  EXPECT_DOUBLE_EQ(patch.top, 26);
  EXPECT_DOUBLE_EQ(patch.left, 92);
  EXPECT_DOUBLE_EQ(patch.bottom, 42);
  EXPECT_DOUBLE_EQ(patch.right, 108);
}

// A bright pixel of the original is found in the patch that is said to show it.
TEST(Preprocess, PlacesPatchesWhereTheyAre) {
  Preprocessing how;
  how.resize = ResizeTo::kShortestEdge;
  how.size = {32, 32};
  how.crop = ImageSize{24, 24};
  how.resample = Resample::kBicubic;
  Image image{70, 90, 3, std::vector<std::uint8_t>(70 * 90 * 3, 0)};
  for (std::size_t c = 0; c < 3; ++c) image.levels[(31 * 90 + 52) * 3 + c] = 255;
  const PreprocessedImage result = preprocess(image, how, "x");
  const auto& values = result.pixels.values;
  const auto brightest = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  const std::size_t row = brightest / 24;
  const auto y = static_cast<double>(row);
  const auto x = static_cast<double>(brightest % 24);
  const PixelBox box = result.in_original({y, x, y + 1, x + 1});
  EXPECT_LE(box.top, 31.5);
  EXPECT_GE(box.bottom, 31.5);
  EXPECT_LE(box.left, 52.5);
  EXPECT_GE(box.right, 52.5);
}

TEST(Preprocess, ShowsMoreThanThePictureWhereItAddsBlack) {
  Preprocessing how;
  how.crop = ImageSize{10, 4};
  how.scale = 2;
  const PreprocessedImage result = preprocess({4, 4, 3, std::vector<std::uint8_t>(48, 5)}, how, "x");
  EXPECT_DOUBLE_EQ(result.shown.top, -3);
  EXPECT_DOUBLE_EQ(result.shown.bottom, 7);
  EXPECT_EQ(std::accumulate(result.pixels.values.begin(), result.pixels.values.end(), 0.0F), 48 * 5 * 2);
}

TEST(Preprocess, RefusesWhatDoesNotFit) {
  EXPECT_ERROR(preprocess(noise(4, 4, 1), {}, "x"), ErrorKind::kInvalidArgument,
               "x: the image has 1 channels, expected 3");
  Preprocessing how;
  how.mean = {0.5F, 0.5F, 0.5F};
  EXPECT_ERROR(preprocess(noise(4, 4), how, "x"), ErrorKind::kInvalidArgument, "3 means and 0 standard deviations");
  how = {};
  how.resize = ResizeTo::kShortestEdge;
  how.size = {4000, 4000};
  EXPECT_ERROR(preprocess(noise(1, 5000), how, "x"), ErrorKind::kUnsupported, "would be resized to 4000 x 20000000");
  how.resize = ResizeTo::kCover;
  EXPECT_ERROR(preprocess(noise(1, 5000), how, "x"), ErrorKind::kUnsupported, "would be resized to 4000 x 20000000");
}

}  // namespace
}  // namespace headscope
