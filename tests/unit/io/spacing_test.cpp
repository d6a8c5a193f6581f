#include "headscope/io/spacing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "headscope/io/decode.h"
#include "support/expect_error.h"
#include "support/on_every_target.h"

namespace headscope {
namespace {

template <typename T>
void expect_neighbors_are_one_spacing_apart(DType dtype, T largest) {
  std::vector<T> codes;
  for (std::uint32_t code = 0; code <= largest; ++code) codes.push_back(static_cast<T>(code));
  std::vector<float> values(codes.size());
  std::vector<float> spacings(codes.size());
  decode(dtype, std::as_bytes(std::span(codes)), values);
  find_spacings(dtype, std::as_bytes(std::span(codes)), values, spacings);
  for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
    const double distance = static_cast<double>(values[i + 1]) - static_cast<double>(values[i]);
    ASSERT_EQ(static_cast<double>(spacings[i]), std::max(distance, 0x1p-126)) << info(dtype).name << ' ' << i;
  }
}

TEST(Spacings, OfPlainTypesAreTheDistanceToTheNextValue) {
  test::on_every_target([] {
    expect_neighbors_are_one_spacing_apart<std::uint16_t>(DType::kF16, 0x7BFF);
    expect_neighbors_are_one_spacing_apart<std::uint16_t>(DType::kBF16, 0x7F7F);
    expect_neighbors_are_one_spacing_apart<std::uint8_t>(DType::kF8E4M3, 0x7E);
    expect_neighbors_are_one_spacing_apart<std::uint8_t>(DType::kF8E5M2, 0x7B);
  });
}

TEST(Spacings, DoNotDependOnTheSign) {
  const std::vector<std::uint8_t> codes = {0x3A, 0xBA, 0x00, 0x80};
  std::vector<float> values(4);
  std::vector<float> spacings(4);
  decode(DType::kF8E4M3, std::as_bytes(std::span(codes)), values);
  find_spacings(DType::kF8E4M3, std::as_bytes(std::span(codes)), values, spacings);
  EXPECT_EQ(spacings, (std::vector<float>{0.125F, 0.125F, 0x1p-9F, 0x1p-9F}));
}

// In random blocks, elements of a group differ by whole steps, and some by one.
TEST(Spacings, OfBlockFormatsAreTheStepsOfTheirGroups) {
  struct Case {
    DType dtype;
    std::size_t group;
    std::vector<std::size_t> halves;  // where the scales are
  };
  const std::vector<Case> cases = {
      {DType::kQ4_0, 32, {0}},    {DType::kQ4_1, 32, {0, 2}},   {DType::kQ5_0, 32, {0}},   {DType::kQ5_1, 32, {0, 2}},
      {DType::kQ8_0, 32, {0}},    {DType::kQ2_K, 16, {80, 82}}, {DType::kQ3_K, 16, {108}}, {DType::kQ4_K, 32, {0, 2}},
      {DType::kQ5_K, 32, {0, 2}}, {DType::kQ6_K, 16, {208}},
  };
  std::mt19937 random(3);
  for (const auto& [dtype, group, halves] : cases) {
    SCOPED_TRACE(info(dtype).name);
    const std::size_t blocks = 20;
    const DTypeInfo& type = info(dtype);
    std::vector<std::uint8_t> bytes(blocks * type.block_bytes);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    for (std::size_t b = 0; b < blocks; ++b) {
      for (const std::size_t half : halves) {  // 1.0 or -1.0
        bytes[b * type.block_bytes + half] = 0;
        bytes[b * type.block_bytes + half + 1] = b % 2 == 0 ? 0x3C : 0xBC;
      }
    }
    std::vector<float> values(blocks * type.block_elements);
    std::vector<float> spacings(values.size());
    decode(dtype, std::as_bytes(std::span(bytes)), values);
    find_spacings(dtype, std::as_bytes(std::span(bytes)), values, spacings);
    std::size_t neighbors = 0;
    for (std::size_t first = 0; first < values.size(); first += group) {
      for (std::size_t i = first; i < first + group; ++i) {
        ASSERT_EQ(spacings[i], spacings[first]);
        for (std::size_t j = first; j < i; ++j) {
          const float difference = std::abs(values[i] - values[j]);
          ASSERT_GE(spacings[i], 0.0F);
          if (spacings[i] == 0) {
            ASSERT_EQ(difference, 0.0F);
            continue;
          }
          ASSERT_EQ(std::fmod(difference, spacings[i]), 0.0F);
          neighbors += difference == spacings[i] ? 1 : 0;
        }
      }
    }
    EXPECT_GT(neighbors, blocks);
  }
}

// The numbers of MXFP4 are 0, 0.5, 1, 1.5, 2, 3, 4, 6: the root mean square of rounding to each, times sqrt(12).
TEST(Spacings, OfMxfp4AreThoseOfItsNumbers) {
  std::vector<std::uint8_t> block = {128};  // scale 2
  for (int code = 0; code < 16; ++code) block.push_back(static_cast<std::uint8_t>(code % 8 + 16 * (code % 8 + 8)));
  std::vector<float> values(32);
  std::vector<float> spacings(32);
  const auto bytes = std::as_bytes(std::span(block));
  decode(DType::kMXFP4, bytes, values);
  find_spacings(DType::kMXFP4, bytes, values, spacings);
  const std::vector<double> gaps = {0.5, 0.5, 0.5, 0.5, std::sqrt((0.125 + 1) / 1.5), 1, std::sqrt((1 + 8) / 3.0), 2};
  for (std::size_t i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(spacings[i], static_cast<float>(2 * gaps[i % 8])) << i;
}

TEST(Spacings, AreRefusedForWideTypesAndWrongSizes) {
  EXPECT_TRUE(has_spacings(DType::kBF16));
  EXPECT_TRUE(has_spacings(DType::kQ2_K));
  EXPECT_FALSE(has_spacings(DType::kF32));
  EXPECT_FALSE(has_spacings(DType::kF64));
  EXPECT_TRUE(has_spacings(DType::kMXFP4));
  EXPECT_FALSE(has_spacings(DType::kNF4));  // made of several tensors
  std::vector<float> values(32);
  const std::vector<std::byte> bytes(128);
  EXPECT_ERROR(find_spacings(DType::kF32, bytes, values, values), ErrorKind::kUnsupported, "F32");
  EXPECT_ERROR(find_spacings(DType::kQ4_0, bytes, values, values), ErrorKind::kInvalidArgument, "128 bytes of Q4_0");
}

}  // namespace
}  // namespace headscope
