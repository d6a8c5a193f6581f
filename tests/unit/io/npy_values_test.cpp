#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "headscope/io/npy.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

template <typename T>
NpyView view_of(const std::vector<T>& elements, char kind, Shape shape) {
  return {{kind, sizeof(T), false}, false, std::move(shape), std::as_bytes(std::span(elements))};
}

// m * 2^e as IEEE 754 defines the half with these bits, without the tricks of the code under test.
double half_by_definition(unsigned bits) {
  const int exponent = static_cast<int>((bits >> 10) & 31U);
  const int mantissa = static_cast<int>(bits & 1023U);
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(NpyValues, ConvertsEveryHalfExactly) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> floats = npy_values<float>(view_of(halves, 'f', {halves.size()}), "x");
  for (unsigned i = 0; i < halves.size(); ++i) {
    const double expected = half_by_definition(i);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(floats[i])) << i;
    } else {
      ASSERT_EQ(floats[i], expected) << i;
      ASSERT_EQ(std::signbit(floats[i]), i >= 0x8000) << i;
    }
  }
}

TEST(NpyValues, PutsFortranOrderIntoCOrderAcrossTiles) {
  // Extents beyond the tile of 32 and not multiples of it. Element (i, j, k) is 10000 i + 100 j + k.
  const std::size_t ni = 37;
  const std::size_t nj = 3;
  const std::size_t nk = 70;
  std::vector<std::int32_t> fortran;
  std::vector<std::int64_t> expected(ni * nj * nk);
  for (std::size_t k = 0; k < nk; ++k) {
    for (std::size_t j = 0; j < nj; ++j) {
      for (std::size_t i = 0; i < ni; ++i) {
        const std::size_t value = 10000 * i + 100 * j + k;
        fortran.push_back(static_cast<std::int32_t>(value));
        expected[(i * nj + j) * nk + k] = static_cast<std::int64_t>(value);
      }
    }
  }
  NpyView array = view_of(fortran, 'i', {ni, nj, nk});
  array.fortran_order = true;
  EXPECT_EQ(npy_values<std::int64_t>(array, "x"), expected);
}

TEST(NpyValues, ReadsElementsThatAreNotAligned) {
  std::string buffer(1 + 3 * sizeof(double), '\0');
  const double values[3] = {1.25, -2.5, 1e10};
  std::memcpy(buffer.data() + 1, values, sizeof values);
  const NpyView array{{'f', 8, false}, false, {3}, std::as_bytes(std::span(buffer)).subspan(1)};
  EXPECT_EQ(npy_values<double>(array, "x"), (std::vector<double>{1.25, -2.5, 1e10}));
}

TEST(NpyValues, TakesAnyByteButZeroForTrue) {
  const std::vector<std::uint8_t> bytes = {0, 1, 2, 255};
  EXPECT_EQ(npy_values<float>(view_of(bytes, 'b', {4}), "x"), (std::vector<float>{0, 1, 1, 1}));
}

TEST(NpyValues, RoundsLargeIntegersToNearest) {
  const std::vector<std::uint64_t> values = {std::numeric_limits<std::uint64_t>::max(), (1ULL << 53) + 1};
  EXPECT_EQ(npy_values<double>(view_of(values, 'u', {2}), "x"), (std::vector<double>{0x1p64, 0x1p53}));
}

TEST(NpyValues, KeepsInfinityAndNanButRefusesDoublesBeyondFloat) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> fine = {infinity, -infinity, std::nan(""), 1e-300};
  const std::vector<float> floats = npy_values<float>(view_of(fine, 'f', {4}), "x");
  EXPECT_TRUE(std::isinf(floats[0]) && std::isinf(floats[1]) && std::isnan(floats[2]));
  EXPECT_EQ(floats[3], 0.0F);
  const std::vector<double> large = {1.0, 1e39};
  EXPECT_ERROR(npy_values<float>(view_of(large, 'f', {2}), "x.npy"), ErrorKind::kUnsupported,
               "x.npy: some elements of type f8 are out of the range of float32");
}

TEST(NpyValues, RefusesUnsignedIntegersBeyondInt64) {
  const std::vector<std::uint64_t> large = {1ULL << 63};
  EXPECT_ERROR(npy_values<std::int64_t>(view_of(large, 'u', {1}), "x"), ErrorKind::kUnsupported, "range of int64");
}

TEST(NpyValues, RefusesToMakeIntegersOfFloats) {
  const std::vector<float> floats = {1.0F};
  EXPECT_ERROR(npy_values<std::int64_t>(view_of(floats, 'f', {1}), "x"), ErrorKind::kUnsupported,
               "elements of type f4 do not convert to int64");
}

TEST(NpyValues, RefusesAViewWhoseBytesDoNotFitItsShape) {
  const std::vector<float> floats(5);
  EXPECT_ERROR(npy_values<float>(view_of(floats, 'f', {2, 3}), "x"), ErrorKind::kInvalidArgument,
               "20 bytes do not fill an array of shape [2, 3]");
}

TEST(ReadNpy, TakesElementsOfAnyTypeFromTheMiddle) {
  const std::vector<std::int16_t> values = {-3, 5, 7, 11, 13};
  std::vector<double> out(2);
  read_npy<double>(view_of(values, 'i', {5}), 2, out, "x");
  EXPECT_EQ(out, (std::vector<double>{7, 11}));
  std::vector<std::int64_t> integers(5);
  read_npy<std::int64_t>(view_of(values, 'i', {5}), 0, integers, "x");
  EXPECT_EQ(integers, (std::vector<std::int64_t>{-3, 5, 7, 11, 13}));
}

TEST(ReadNpy, RefusesWhatIsNotThereAndFortranOrder) {
  const std::vector<float> values(6);
  NpyView array = view_of(values, 'f', {2, 3});
  std::vector<float> out(3);
  EXPECT_ERROR(read_npy<float>(array, 4, out, "x.npy"), ErrorKind::kInvalidArgument,
               "x.npy: elements 4 to 7 requested, expected a range of the 6");
  EXPECT_ERROR(read_npy<float>(array, std::numeric_limits<std::size_t>::max(), out, "x"), ErrorKind::kInvalidArgument,
               "requested");
  array.fortran_order = true;
  EXPECT_ERROR(read_npy<float>(array, 0, out, "x"), ErrorKind::kInvalidArgument, "an array in C order");
  std::vector<std::int64_t> integers(1);
  EXPECT_ERROR(read_npy<std::int64_t>(view_of(values, 'f', {6}), 0, integers, "x"), ErrorKind::kUnsupported,
               "elements of type f4 do not convert to int64");
}

}  // namespace
}  // namespace headscope
