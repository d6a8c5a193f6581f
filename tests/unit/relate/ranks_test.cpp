// Ranks of heads that were made with a known one and then stored in a narrow type. benchmarks/calibration/ranks.py does
// the same with more heads and types.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headscope/io/decode.h"
#include "headscope/relate/relate.h"
#include "support/random.h"

namespace headscope {
namespace {

constexpr std::size_t kD = 64, kHead = 16, kHeads = 4, kLayers = 2;
constexpr std::size_t kRanks[kHeads] = {kHead, 4, 1, 0};

using Bytes = std::vector<std::uint8_t>;

// Rounds to the nearest finite value of a plain type.
class Rounding {
 public:
  Rounding(DType dtype, std::uint32_t largest) : size_(info(dtype).block_bytes) {
    for (std::uint32_t code = 0; code <= largest; ++code) {
      Bytes bytes = {static_cast<std::uint8_t>(code & 0xFF), static_cast<std::uint8_t>(code >> 8)};
      bytes.resize(size_);
      float value = 0;
      decode(dtype, std::as_bytes(std::span(bytes)), std::span(&value, 1));
      values_.push_back(value);
    }
  }

  void append(float x, Bytes& out) const {
    const auto above = std::ranges::lower_bound(values_, std::abs(x));
    auto code = static_cast<std::size_t>(above - values_.begin());
    if (code == values_.size() || (code > 0 && std::abs(x) - values_[code - 1] < values_[code] - std::abs(x))) --code;
    if (std::signbit(x)) code |= std::size_t{1} << (8 * size_ - 1);
    for (std::size_t i = 0; i < size_; ++i) out.push_back(static_cast<std::uint8_t>(code >> (8 * i)));
  }

 private:
  std::size_t size_;
  std::vector<float> values_;
};

Bytes plain(DType dtype, std::uint32_t largest, const std::vector<float>& values) {
  const Rounding rounding(dtype, largest);
  Bytes bytes;
  for (const float value : values) rounding.append(value, bytes);
  return bytes;
}

// Q8_0 and Q4_0: a scale, then `levels` steps on the longer side of zero.
Bytes blocks(DType dtype, const std::vector<float>& values) {
  static const Rounding half(DType::kF16, 0x7BFF);
  const bool nibbles = dtype == DType::kQ4_0;
  Bytes bytes;
  for (std::size_t first = 0; first < values.size(); first += 32) {
    const auto block = std::span(values).subspan(first, 32);
    const float extreme = *std::ranges::max_element(block, {}, [](float x) { return std::abs(x); });
    const float step = extreme / (nibbles ? -8.0F : 127.0F);
    half.append(step, bytes);
    const auto q = [&](std::size_t i, float low, float high) {
      return static_cast<int>(step == 0 ? 0 : std::clamp(std::round(block[i] / step), low, high));
    };
    for (std::size_t i = 0; i < (nibbles ? 16 : 32); ++i) {
      bytes.push_back(nibbles ? static_cast<std::uint8_t>((q(i, -8, 7) + 8) | ((q(i + 16, -8, 7) + 8) << 4))
                              : static_cast<std::uint8_t>(q(i, -127, 127)));
    }
  }
  return bytes;
}

// kD x (kHeads * kHead), row-major: heads beside one another.
std::vector<float> planted(std::uint64_t seed) {
  std::vector<float> all(kD * kHeads * kHead);
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t rank = kRanks[head];
    const std::vector<float> a = test::normals(kD * kHead, seed + 10 * head);
    const std::vector<float> b = test::normals(kHead * kHead, seed + 10 * head + 5);
    for (std::size_t i = 0; i < kD; ++i) {
      for (std::size_t j = 0; j < kHead; ++j) {
        float& out = all[i * kHeads * kHead + head * kHead + j];
        for (std::size_t k = 0; k < rank && rank < kHead; ++k) out += 0.02F * a[i * kHead + k] * b[k * kHead + j];
        if (rank == kHead) out = 0.02F * a[i * kHead + j];
      }
    }
  }
  return all;
}

std::vector<float> transposed(const std::vector<float>& values) {
  const std::size_t columns = values.size() / kD;
  std::vector<float> out(values.size());
  for (std::size_t i = 0; i < kD; ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j * kD + i] = values[i * columns + j];
  }
  return out;
}

using Encoder = std::function<Bytes(const std::vector<float>&)>;

// A LLaMA in memory whose projections are stored by `encode`, with gains between 1/2 and 2.
struct Planted {
  std::map<std::string, Bytes> bytes;
  std::vector<StoredTensor> tensors;

  Planted(DType dtype, const Encoder& encode, bool scaled) {
    const auto add = [&](const std::string& name, DType type, Shape shape, Bytes stored) {
      const Bytes& kept = bytes[name] = std::move(stored);
      tensors.push_back({name, type, std::move(shape), std::as_bytes(std::span(kept))});
    };
    const auto floats = [](const std::vector<float>& values) {
      const auto raw = std::as_bytes(std::span(values));
      Bytes out;
      for (const std::byte byte : raw) out.push_back(std::to_integer<std::uint8_t>(byte));
      return out;
    };
    std::uint64_t seed = 100;
    for (std::size_t layer = 0; layer < kLayers; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      std::vector<float> gain(kD);
      for (std::size_t i = 0; i < kD; ++i) gain[i] = std::exp2(std::sin(static_cast<float>(i)));
      add(prefix + "input_layernorm.weight", DType::kF32, {kD}, floats(gain));
      for (const char role : {'q', 'k', 'v', 'o'}) {
        const std::string name = prefix + "self_attn." + role + "_proj.weight";
        const std::vector<float> values = planted(seed += 100);
        add(name, dtype, {kD, kD}, encode(role == 'o' ? values : transposed(values)));
        if (scaled) add(name + "_scale_inv", DType::kF32, {1, 1}, floats({0x1p-9F}));
      }
    }
  }

  [[nodiscard]] Model model() const {
    const std::string config = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16})";
    return Model::from_checkpoint(Checkpoint::from_memory("planted", tensors, config));
  }
};

void expect_ranks(DType dtype, const Encoder& encode, bool scaled = false) {
  SCOPED_TRACE(std::string(info(dtype).name) + (scaled ? " scaled" : ""));
  const Planted stored(dtype, encode, scaled);
  const Model model = stored.model();
  const std::vector<RolePair> pairs = {{Role::kO, Role::kQ}, {Role::kK, Role::kV}};
  for (const Metric metric : {Metric::kPk, Metric::kProcrustes}) {
    const auto all = compute_affinities(model, metric, pairs).value();
    for (const Affinities& one : all) {
      for (std::size_t i = 0; i < kLayers * kHeads; ++i) {
        EXPECT_EQ(one.source.ranks[i], kRanks[i % kHeads]) << letter(one.pair.source) << i;
        EXPECT_EQ(one.target.ranks[i], kRanks[i % kHeads]) << letter(one.pair.target) << i;
      }
    }
  }
}

TEST(Ranks, ArePlantedOnesInPlainTypes) {
  expect_ranks(DType::kF16, [](const auto& x) { return plain(DType::kF16, 0x7BFF, x); });
  expect_ranks(DType::kBF16, [](const auto& x) { return plain(DType::kBF16, 0x7F7F, x); });
  expect_ranks(DType::kF8E4M3, [](const auto& x) { return plain(DType::kF8E4M3, 0x7E, x); });
  const auto scaled = [](std::vector<float> x) {
    for (float& value : x) value *= 0x1p9F;
    return plain(DType::kF8E4M3, 0x7E, x);
  };
  expect_ranks(DType::kF8E4M3, scaled, /*scaled=*/true);
}

TEST(Ranks, ArePlantedOnesInBlockFormats) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0}) {
    expect_ranks(dtype, [&](const auto& x) { return blocks(dtype, x); });
  }
}

std::string rank_warning(DType dtype, const Encoder& encode) {
  const Planted stored(dtype, encode, false);
  RelateOptions options;
  options.pairs = {{Role::kO, Role::kQ}};
  options.nulls = {NullModel::kIsotropic};
  const RelateResult result = relate(stored.model(), options).value();
  for (const std::string& warning : result.warnings) {
    if (warning.starts_with("rank-deficient heads in role O: L0H1 (4 of 16), L0H2 (1 of 16), L0H3 (0 of 16)")) {
      return warning;
    }
  }
  return {};
}

TEST(Ranks, WarningsNameQuantizationIfItIsTheCause) {
  const std::string quantized = rank_warning(DType::kQ4_0, [](const auto& x) { return blocks(DType::kQ4_0, x); });
  EXPECT_TRUE(quantized.ends_with("; quantization to Q4_0 hides directions below its rounding errors")) << quantized;
  const std::string plain_one =
      rank_warning(DType::kBF16, [](const auto& x) { return plain(DType::kBF16, 0x7F7F, x); });
  EXPECT_FALSE(plain_one.empty());
  EXPECT_EQ(plain_one.find("quantization"), std::string::npos) << plain_one;
}

}  // namespace
}  // namespace headscope
