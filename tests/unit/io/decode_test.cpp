#include "headscope/io/decode.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headscope/io/gguf.h"
#include "support/expect_error.h"
#include "support/on_every_target.h"

namespace headscope {
namespace {

using test::on_every_target;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits(values.size());
  if (!values.empty()) std::memcpy(bits.data(), values.data(), values.size_bytes());
  return bits;
}

template <typename T>
std::vector<float> decode_values(DType dtype, const std::vector<T>& stored) {
  std::vector<float> out(stored.size());
  decode(dtype, std::as_bytes(std::span(stored)), out);
  return out;
}

template <typename T>
std::vector<T> all_patterns() {
  std::vector<T> patterns(std::size_t{1} << (8 * sizeof(T)));
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<T>(i);
  return patterns;
}

// A number of `exponent_bits` and `mantissa_bits` by the definition of IEEE
// 754, in double; the largest exponent is an ordinary one if `finite`.
double from_definition(std::uint32_t pattern, int exponent_bits, int mantissa_bits, bool finite) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int largest = (1 << exponent_bits) - 1;
  const int mantissa = static_cast<int>(pattern) & ((1 << mantissa_bits) - 1);
  const int exponent = (static_cast<int>(pattern) >> mantissa_bits) & largest;
  const double sign = ((pattern >> (exponent_bits + mantissa_bits)) & 1U) != 0 ? -1.0 : 1.0;
  if (exponent == largest && !finite) return mantissa == 0 ? sign * kInfinity : kNan;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

template <typename T, typename Reference>
void expect_all_patterns(DType dtype, const Reference& reference) {
  const std::vector<T> patterns = all_patterns<T>();
  on_every_target([&] {
    const std::vector<float> decoded = decode_values(dtype, patterns);
    std::size_t wrong = 0;
    for (const T pattern : patterns) {
      const auto expected = static_cast<float>(reference(pattern));
      const float found = decoded[pattern];
      const bool same = std::isnan(expected)
                            ? std::isnan(found)
                            : std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(expected);
      if (!same && ++wrong < 5) ADD_FAILURE() << "pattern " << pattern << ": " << found << ", expected " << expected;
    }
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(Decode, GivesEveryF16ItsValue) {
  expect_all_patterns<std::uint16_t>(DType::kF16, [](std::uint32_t p) { return from_definition(p, 5, 10, false); });
}

TEST(Decode, GivesEveryBF16ItsValue) {
  expect_all_patterns<std::uint16_t>(DType::kBF16, [](std::uint32_t p) { return from_definition(p, 8, 7, false); });
}

TEST(Decode, GivesEveryF8E5M2ItsValue) {
  expect_all_patterns<std::uint8_t>(DType::kF8E5M2, [](std::uint32_t p) { return from_definition(p, 5, 2, false); });
}

TEST(Decode, GivesEveryF8E4M3ItsValueWithoutInfinities) {
  expect_all_patterns<std::uint8_t>(DType::kF8E4M3, [](std::uint32_t p) {
    return (p & 0x7FU) == 0x7FU ? static_cast<double>(kNan) : from_definition(p, 4, 3, true);
  });
}

TEST(Decode, CopiesF32BitForBit) {
  const std::vector<std::uint32_t> stored = {0x7F800001U, 0xFFC00000U, 0x80000000U, 0x00000001U, 0x3F800000U};
  EXPECT_EQ(bits_of(decode_values(DType::kF32, stored)), stored);
}

TEST(Decode, RoundsF64ToTheNearestFloat) {
  const std::vector<double> stored = {1.0 + 0x1p-24, 1.0 + 0x1.8p-24, 1.0 + 0x1.8p-23, -0x1p-149, 0x1p-150,
                                      -0x1.8p-150,   1e300,           -1e300,          -0.0,      kInfinity,
                                      0.1,           0x1.FFFFFFp127};
  const std::vector<float> expected = {1.0F,      1.0F + 0x1p-23F, 1.0F + 0x1p-22F, -0x1p-149F, 0.0F, -0x1p-149F,
                                       kInfinity, -kInfinity,      -0.0F,           kInfinity,  0.1F, kInfinity};
  on_every_target([&] { EXPECT_EQ(bits_of(decode_values(DType::kF64, stored)), bits_of(expected)); });
}

class DecodeGolden : public testing::TestWithParam<const char*> {};

TEST_P(DecodeGolden, EqualsTheGgufPackageBitForBit) {
  const GgufFile file =
      GgufFile::open(std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests" / "golden" / "gguf" / "quants.gguf");
  const StoredTensor* stored = nullptr;
  const StoredTensor* expected = nullptr;
  for (const StoredTensor& tensor : file.tensors()) {
    if (tensor.name == GetParam()) stored = &tensor;
    if (tensor.name == std::string(GetParam()) + ".expected") expected = &tensor;
  }
  ASSERT_NE(stored, nullptr);
  ASSERT_NE(expected, nullptr);
  ASSERT_EQ(info(stored->dtype).name, GetParam());
  ASSERT_EQ(expected->dtype, DType::kF32);
  ASSERT_EQ(stored->shape, expected->shape);
  std::vector<float> wanted(expected->bytes.size() / sizeof(float));
  std::memcpy(wanted.data(), expected->bytes.data(), expected->bytes.size());

  on_every_target([&] {
    std::vector<float> decoded(wanted.size());
    decode(stored->dtype, stored->bytes, decoded);
    EXPECT_EQ(bits_of(decoded), bits_of(wanted));
  });
}

INSTANTIATE_TEST_SUITE_P(Types, DecodeGolden,
                         testing::Values("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K",
                                         "Q4_K", "Q5_K", "Q6_K", "MXFP4"),
                         [](const auto& parameter) { return std::string(parameter.param); });

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 0; i <= static_cast<int>(DType::kINT8); ++i) types.push_back(static_cast<DType>(i));
  return types;
}

TEST(Decode, DoesNotDependOnWhereTheBytesLieNorHowManyThereAre) {
  std::mt19937 random(7);
  for (const DType dtype : all_types()) {
    const DTypeInfo& type = info(dtype);
    if (!type.decodable) continue;
    SCOPED_TRACE(type.name);
    const std::size_t blocks = type.block_elements == 1 ? 133 : 5;
    std::vector<std::byte> stored(1 + blocks * type.block_bytes);
    // 0 to 63 in every byte keeps every exponent, whatever the format, far from NaN.
    for (std::byte& byte : stored) byte = static_cast<std::byte>(random() % 64);
    const auto odd = std::span(std::as_const(stored)).subspan(1);
    std::vector<float> one_by_one(blocks * type.block_elements);
    for (std::size_t i = 0; i < blocks; ++i) {
      decode(dtype, odd.subspan(i * type.block_bytes, type.block_bytes),
             std::span(one_by_one).subspan(i * type.block_elements, type.block_elements));
    }
    on_every_target([&] {
      std::vector<float> at_once(one_by_one.size());
      decode(dtype, odd, at_once);
      EXPECT_EQ(bits_of(at_once), bits_of(one_by_one));
    });
  }
}

TEST(Decode, WritesNothingPastTheLastElement) {
  const std::vector<std::uint16_t> stored(70, 0x3C00);
  std::vector<float> out(71, -1.0F);
  decode(DType::kF16, std::as_bytes(std::span(stored)), std::span(out).first(70));
  EXPECT_EQ(out[69], 1.0F);
  EXPECT_EQ(out[70], -1.0F);
}

TEST(Decode, AcceptsNoElementsAtAll) {
  for (const DType dtype : all_types()) {
    if (!info(dtype).decodable) continue;
    EXPECT_NO_THROW(decode(dtype, {}, {}));
  }
}

TEST(Decode, RefusesTypesItCannotTurnIntoFloats) {
  for (const DType dtype : all_types()) {
    if (info(dtype).decodable) continue;
    EXPECT_ERROR(decode(dtype, {}, {}), ErrorKind::kUnsupported, std::string(info(dtype).name));
  }
}

TEST(Decode, RefusesSizesThatDoNotFit) {
  std::vector<std::byte> stored(36);
  std::vector<float> out(64);
  EXPECT_ERROR(decode(DType::kQ4_0, std::span(stored).first(35), out), ErrorKind::kInvalidArgument,
               "35 bytes of Q4_0, expected a multiple of 18");
  EXPECT_ERROR(decode(DType::kQ4_0, stored, std::span(out).first(32)), ErrorKind::kInvalidArgument,
               "2 blocks of Q4_0 go into 32 floats");
  EXPECT_ERROR(decode(DType::kQ4_0, stored, std::span(out).first(63)), ErrorKind::kInvalidArgument, "63 floats");
  EXPECT_ERROR(decode(DType::kF32, stored, std::span(out).first(8)), ErrorKind::kInvalidArgument, "9 blocks of F32");
}

TEST(FindNonFinite, FindsTheFirstNanOrInfinityWhereverItIs) {
  on_every_target([] {
    std::vector<float> values(2100, 1.0F);
    values[0] = std::numeric_limits<float>::max();
    values[1] = -std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(find_non_finite(values), std::nullopt);
    for (const float bad : {kNan, kInfinity, -kInfinity, std::bit_cast<float>(0x7F800001U)}) {
      values.back() = bad;
      for (const std::size_t i : {0U, 1U, 1023U, 1024U, 1500U, 2047U, 2048U, 2098U, 2099U}) {
        const float before = std::exchange(values[i], bad);
        EXPECT_EQ(find_non_finite(values), i);
        values[i] = before;
      }
      values.back() = 1.0F;
    }
  });
}

TEST(FindNonFinite, FindsNothingInNothing) {
  EXPECT_EQ(find_non_finite({}), std::nullopt);
}

}  // namespace
}  // namespace headscope
