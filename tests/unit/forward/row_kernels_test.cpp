#include "headscope/forward/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "support/on_every_target.h"
#include "support/random.h"

namespace headscope {
namespace {

using test::normals;
using test::on_every_target;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Lengths around every vector's and every unrolled loop's.
constexpr std::size_t kMaxLength = 70;

double relative(float found, double expected, double scale) {
  return std::abs(static_cast<double>(found) - expected) / scale;
}

TEST(RowKernels, NormsAreWhatTheirFormulasSay) {
  on_every_target([] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      const std::vector<float> x = normals(n, n);
      const std::vector<float> gain = normals(n, n + 100);
      const std::vector<float> bias = normals(n, n + 200);
      double mean = 0;
      double squares = 0;
      for (const float value : x) mean += static_cast<double>(value) / static_cast<double>(n);
      for (const float value : x) squares += std::pow(static_cast<double>(value), 2) / static_cast<double>(n);
      const double deviation = std::sqrt(squares - mean * mean + 1e-3);
      const double root = std::sqrt(squares + 1e-3);
      std::vector<float> layer(n), bare(n), rms = x;
      layer_norm(x, gain, bias, 1e-3F, layer);
      layer_norm(x, gain, {}, 1e-3F, bare);
      rms_norm(rms, gain, 1e-3F, rms);  // in place
      for (std::size_t i = 0; i < n; ++i) {
        const double normal = (static_cast<double>(x[i]) - mean) / deviation * static_cast<double>(gain[i]);
        EXPECT_NEAR(layer[i], normal + static_cast<double>(bias[i]), 2e-5) << n;
        EXPECT_NEAR(bare[i], normal, 2e-5) << n;
        EXPECT_NEAR(rms[i], static_cast<double>(x[i]) / root * static_cast<double>(gain[i]), 2e-5) << n;
      }
    }
  });
}

TEST(RowKernels, SoftmaxSumsToOneWhateverTheScale) {
  on_every_target([] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      for (const float scale : {1e-30F, 1.0F, 30.0F, 1e30F}) {
        std::vector<float> x = normals(n, n);
        for (float& value : x) value *= scale;
        const double most = static_cast<double>(*std::ranges::max_element(x));
        double sum = 0;
        for (const float value : x) sum += std::exp(static_cast<double>(value) - most);
        std::vector<float> found = x;
        softmax(found);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(found[i], std::exp(static_cast<double>(x[i]) - most) / sum, 2e-6) << n << " x " << scale;
        }
        EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 1, 1e-5);
      }
    }
    std::vector<float> far = {-3e38F, 3e38F, -3e38F};
    softmax(far);
    EXPECT_EQ(far, (std::vector<float>{0, 1, 0}));
    std::vector<float> none;
    softmax(none);
  });
}

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGelu:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu2:
      return x > 0 ? x * x : 0;
  }
  return 0;
}

constexpr Activation kActivations[] = {Activation::kRelu,      Activation::kGelu, Activation::kGeluTanh,
                                       Activation::kQuickGelu, Activation::kSilu, Activation::kTanh};

TEST(RowKernels, ActivationsAreWithinAFewRoundingsOfTheirFormulas) {
  on_every_target([] {
    std::vector<float> x;
    for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) * 0.005F);
    // Beyond the range of the exponential, where a wrong one comes back with any sign.
    for (const float far : {30.0F, 60.0F, 87.0F, 90.0F, 104.0F, 200.0F, 1e4F, 1e30F}) x.insert(x.end(), {far, -far});
    for (const Activation activation : kActivations) {
      std::vector<float> found = x;
      activate(activation, found);
      std::vector<float> gated(x.size(), 2.0F);
      activate_gate(activation, x, gated);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = exact(activation, static_cast<double>(x[i]));
        worst = std::max(worst, relative(found[i], expected, std::max(1.0, std::abs(static_cast<double>(x[i])))));
        EXPECT_EQ(gated[i], 2 * found[i]);
      }
      EXPECT_LT(worst, 4e-7) << static_cast<int>(activation);
    }
  });
}

TEST(RowKernels, SquaredReluIsExactToRounding) {  // it overflows where the others do not
  on_every_target([] {
    std::vector<float> x;
    for (int i = -40; i <= 40; ++i) x.push_back(static_cast<float>(i) * 0.3F);
    std::vector<float> found = x;
    activate(Activation::kRelu2, found);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = exact(Activation::kRelu2, static_cast<double>(x[i]));
      EXPECT_NEAR(found[i], expected, expected * 0x1p-23);
    }
  });
}

TEST(RowKernels, ActivationsAndCapsTakeEveryLength) {
  on_every_target([] {
    for (std::size_t n = 0; n <= kMaxLength; ++n) {
      const std::vector<float> x = normals(n, n);
      std::vector<float> capped = x;
      for (float& value : capped) value *= 50;
      soft_cap(capped, 30);
      std::vector<float> active = x;
      activate(Activation::kSilu, active);
      for (std::size_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(x[i]);
        EXPECT_NEAR(capped[i], 30 * std::tanh(value * 50 / 30), 2e-5);
        EXPECT_NEAR(active[i], exact(Activation::kSilu, value), 1e-6);
      }
    }
  });
}

TEST(RowKernels, AddsAndTurnsEveryLength) {
  on_every_target([] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      const std::vector<float> x = normals(n, 1), y = normals(n, 2), scale = normals(n, 3);
      std::vector<float> plain = x, scaled = x;
      add_scaled(y, {}, plain);
      add_scaled(y, scale, scaled);
      const std::vector<float> pairs = normals(2 * n, 4);
      std::vector<float> cosine(n), sine(n);
      for (std::size_t i = 0; i < n; ++i) cosine[i] = std::cos(y[i]), sine[i] = std::sin(y[i]);
      std::vector<float> halves = pairs, neighbors = pairs;
      rotate_pairs(cosine, sine, /*interleaved=*/false, halves.data());
      rotate_pairs(cosine, sine, /*interleaved=*/true, neighbors.data());
      for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(plain[i], x[i] + y[i]);
        EXPECT_NEAR(scaled[i], x[i] + y[i] * scale[i], 1e-6);
        EXPECT_NEAR(halves[i], pairs[i] * cosine[i] - pairs[i + n] * sine[i], 1e-6);
        EXPECT_NEAR(halves[i + n], pairs[i + n] * cosine[i] + pairs[i] * sine[i], 1e-6);
        EXPECT_NEAR(neighbors[2 * i], pairs[2 * i] * cosine[i] - pairs[2 * i + 1] * sine[i], 1e-6);
        EXPECT_NEAR(neighbors[2 * i + 1], pairs[2 * i + 1] * cosine[i] + pairs[2 * i] * sine[i], 1e-6);
      }
    }
  });
}

TEST(RowKernels, LogSumExpOfAnyLength) {
  on_every_target([] {
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{2}, std::size_t{17}, std::size_t{1025}, std::size_t{5000}}) {
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = 90 + static_cast<float>(i * 37 % 101) / 10;  // sums exceed float
      double sum = 0;
      for (const float value : x) sum += std::exp(static_cast<double>(value));
      EXPECT_NEAR(log_sum_exp(x), std::log(sum), 2e-7 * 100);
      x[n / 2] = -1000;
      EXPECT_TRUE(std::isfinite(log_sum_exp(x)));
    }
  });
}

TEST(RowKernels, EntropyCountsNoZeros) {
  on_every_target([] {
    for (std::size_t n = 1; n <= kMaxLength; ++n) {
      const std::vector<float> even(n, 1 / static_cast<float>(n));
      EXPECT_NEAR(entropy(even), std::log(static_cast<double>(n)), 1e-5);
      std::vector<float> sharp(n, 0.0F);
      sharp[n / 2] = 1;
      EXPECT_EQ(entropy(sharp), 0);
    }
  });
}

// Nearest half to |x|, by looking at all of them; ties to the even one.
std::uint16_t nearest_half(float x) {
  const auto value = [](unsigned bits) {
    const unsigned exponent = bits >> 10;
    const auto mantissa = static_cast<double>(bits & 0x3FF);
    return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
  };
  const double size = std::abs(static_cast<double>(x));
  unsigned low = 0;
  unsigned high = 0x7C00;  // 65536 here, which stands for infinity
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (value(middle) <= size ? low : high) = middle;
  }
  const double below = size - value(low);
  const double above = value(high) - size;
  const unsigned bits = below < above || (below == above && low % 2 == 0) ? low : high;
  return static_cast<std::uint16_t>(bits | (std::signbit(x) ? 0x8000u : 0u));
}

TEST(RowKernels, HalvesAreTheNearestAndTiesAreEven) {
  std::vector<float> x = {0, -0.0F, 1, -1, 65504, 65519.996F, 65520, -65520, 1e30F, 5.9604645e-8F, 2.9802322e-8F};
  for (int exponent = -27; exponent <= 16; ++exponent) {
    for (const float mantissa : {1.0F, 1.00048828125F, 1.000976F, 1.00146484375F, 1.5F, 1.9995F, 1.99976F, 1.9999F}) {
      x.push_back(std::ldexp(mantissa, exponent));
      x.push_back(-std::ldexp(mantissa, exponent));
    }
  }
  for (const float value : normals(500, 9)) x.push_back(value * 1e-5F), x.push_back(value * 100);
  std::vector<std::uint16_t> expected;
  for (const float value : x) expected.push_back(nearest_half(value));
  x.insert(x.end(), {kInfinity, -kInfinity, 1e-45F});
  expected.insert(expected.end(), {0x7C00, 0xFC00, 0});
  on_every_target([&] {
    std::vector<unsigned short> found(x.size());
    to_half(x, found);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(found[i], expected[i]) << x[i];
    std::vector<unsigned short> nan(1);
    to_half(std::vector<float>{std::numeric_limits<float>::quiet_NaN()}, nan);
    EXPECT_GT(nan[0] & 0x7FFF, 0x7C00);
    for (std::size_t n = 0; n <= kMaxLength; ++n) {
      std::vector<unsigned short> some(n + 1, 7);
      to_half(std::span(x).first(n), std::span(some).first(n));
      EXPECT_TRUE(std::equal(some.begin(), some.end() - 1, expected.begin()));
      EXPECT_EQ(some[n], 7);
    }
  });
}

}  // namespace
}  // namespace headscope
