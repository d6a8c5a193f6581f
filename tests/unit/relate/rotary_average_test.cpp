#include "headscope/relate/rotary_average.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <vector>

#include "headscope/model/model.h"
#include "headscope/relate/affinity.h"
#include "support/expect_error.h"
#include "support/random.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

constexpr std::size_t kD = 12;

// ||B R^T A^T w||^2 summed over the columns w of W, all column-major with columns of length kD.
double norm(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& w, std::size_t h,
            const Rotary& rotary, const std::vector<double>& angles) {
  double sum = 0;
  for (std::size_t c = 0; c < w.size() / kD; ++c) {
    std::vector<double> x(h);  // A^T w
    for (std::size_t j = 0; j < h; ++j) {
      for (std::size_t i = 0; i < kD; ++i) x[j] += static_cast<double>(a[j * kD + i] * w[c * kD + i]);
    }
    for (std::size_t k = 0; k < rotary.width / 2; ++k) {
      double& first = x[rotary.interleaved ? 2 * k : k];
      double& second = x[rotary.interleaved ? 2 * k + 1 : k + rotary.width / 2];
      const double turned = std::cos(angles[k]) * first + std::sin(angles[k]) * second;
      second = std::cos(angles[k]) * second - std::sin(angles[k]) * first;
      first = turned;
      for (double* one : {&first, &second}) *one *= rotary.amplitude * rotary.amplitude;
    }
    for (std::size_t i = 0; i < kD; ++i) {
      double y = 0;
      for (std::size_t j = 0; j < h; ++j) y += static_cast<double>(b[j * kD + i]) * x[j];
      sum += y * y;
    }
  }
  return sum;
}

// Over many positions the angles fill the torus evenly. On it the norm is a trigonometric polynomial of degree 2 in
// each angle, whose mean five angles each give exactly.
double mean_norm(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& w, std::size_t h,
                 const Rotary& rotary) {
  const std::size_t pairs = rotary.width / 2;
  const auto count = static_cast<std::size_t>(std::pow(5, pairs));
  double sum = 0;
  for (std::size_t point = 0; point < count; ++point) {
    std::vector<double> angles;
    for (std::size_t k = 0, rest = point; k < pairs; ++k, rest /= 5) {
      angles.push_back(2 * std::numbers::pi * static_cast<double>(rest % 5) / 5);
    }
    sum += norm(a, b, w, h, rotary, angles);
  }
  return sum / static_cast<double>(count);
}

TEST(RotaryAverage, IsTheMeanOverAnglesForEveryPairingAndWidth) {
  const std::size_t h = 6;
  const std::vector<float> a = test::normals(kD * h, 1);
  const std::vector<float> b = test::normals(kD * h, 2);
  const std::vector<float> w = test::normals(kD * 4, 3);
  for (const std::size_t width : {std::size_t{0}, std::size_t{2}, std::size_t{4}, h}) {
    for (const bool interleaved : {false, true}) {
      Rotary rotary{.width = width, .interleaved = interleaved};
      rotary.amplitude = width == 4 ? 1.2 : 1;
      std::vector<float> factor(kD * h);
      multiply_by_rotary_root(a, b, kD, h, rotary, factor);
      double found = 0;
      for (std::size_t c = 0; c < 4; ++c) {
        for (std::size_t j = 0; j < h; ++j) {
          double sum = 0;
          for (std::size_t i = 0; i < kD; ++i) sum += static_cast<double>(factor[j * kD + i] * w[c * kD + i]);
          found += sum * sum;
        }
      }
      const double expected = mean_norm(a, b, w, h, rotary);
      EXPECT_NEAR(found, expected, 1e-5 * expected) << width << ' ' << interleaved;
    }
  }
}

// The idealization: offsets up to 20,000 with the frequencies of a real model of this width.
TEST(RotaryAverage, IsCloseToTheMeanOverManyPositions) {
  const std::size_t h = 4;
  const Rotary rotary{.width = h};
  const std::vector<float> a = test::normals(kD * h, 4);
  const std::vector<float> b = test::normals(kD * h, 5);
  const std::vector<float> w = test::normals(kD, 6);
  const std::vector<float> frequencies = rotary_frequencies(rotary, 1);
  double sum = 0;
  for (int offset = 0; offset < 20000; ++offset) {
    std::vector<double> angles;
    for (const float frequency : frequencies) angles.push_back(static_cast<double>(frequency) * offset);
    sum += norm(a, b, w, h, rotary, angles);
  }
  const double expected = mean_norm(a, b, w, h, rotary);
  EXPECT_NEAR(sum / 20000, expected, 0.01 * expected);
}

// GGUF files of LLaMA hold permuted rows, so that pairs are neighbors.
TEST(RotaryAverage, IsTheSameForAPermutedFile) {
  const auto folder = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/checkpoints";
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}};
  const auto plain = compute_affinities(Model::open(folder / "llama"), Metric::kRopeCs, pairs).value();
  const auto permuted = compute_affinities(Model::open(folder / "gguf_llama"), Metric::kRopeCs, pairs).value();
  const auto unrotated = compute_affinities(Model::open(folder / "llama"), Metric::kCs, pairs).value();
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    float largest = 0;
    for (std::size_t i = 0; i < plain[p].values.values().size(); ++i) {
      const float value = plain[p].values.values()[i];
      EXPECT_NEAR(permuted[p].values.values()[i], value, 1e-6F);
      largest = std::max(largest, std::abs(value - unrotated[p].values.values()[i]));
    }
    EXPECT_GT(largest, 0.01F);
  }
}

TEST(RotaryAverage, OfAModelWithoutRotaryPositionsIsRefused) {
  const test::TemporaryFolder folder;
  test::TinyGpt2().write(folder);
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}};
  EXPECT_ERROR(compute_affinities(Model::open(folder.path()), Metric::kRopeCs, pairs), ErrorKind::kInvalidArgument,
               "metric 'rope-cs' needs rotary positions, but the model's positions are learned");
}

}  // namespace
}  // namespace headscope
