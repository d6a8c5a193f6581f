#include "headscope/base/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace headscope {
namespace {

TEST(Buffer, BeginsAtACacheLine) {
  for (const std::size_t size : {0U, 1U, 3U, 17U, 1000U}) {
    const Buffer<float> floats(size);
    const Buffer<std::uint8_t> bytes(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(floats.data()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64, 0U);
    EXPECT_EQ(floats.values().size(), size);
  }
}

TEST(Buffer, IsEmptyAfterItWasMoved) {
  Buffer<double> first(5);
  first.data()[4] = 7;
  Buffer<double> second(std::move(first));
  EXPECT_EQ(second.values()[4], 7);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(first.data(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.values()[4], 7);
  EXPECT_EQ(second.data(), nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST(Buffer, RefusesASizeThatNoMemoryHas) {
  EXPECT_THROW(Buffer<double>(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
}

#ifdef __SANITIZE_ADDRESS__
TEST(Buffer, EndsWhereItEnds) {
  Buffer<double> buffer(9);
  EXPECT_FALSE(__asan_address_is_poisoned(buffer.data() + 8));
  EXPECT_TRUE(__asan_address_is_poisoned(buffer.data() + 9));
}
#endif

}  // namespace
}  // namespace headscope
