#include "headscope/base/hash.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>

namespace headscope {
namespace {

Hash hash_of(std::string_view bytes) {
  Hash hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash;
}

// The reference values of FNV-1a, draft-eastlake-fnv.
TEST(Hash, HasThePublishedValues) {
  EXPECT_EQ(hash_of("").value(), 0xCBF29CE484222325U);
  EXPECT_EQ(hash_of("a").value(), 0xAF63DC4C8601EC8CU);
  EXPECT_EQ(hash_of("foobar").value(), 0x85944171F73967E8U);
  EXPECT_EQ(hash_of("a").digits(), "af63dc4c8601ec8c");
}

TEST(Hash, DistinguishesWhereATextEnds) {
  Hash one;
  one.add(std::string_view("ab"));
  one.add(std::string_view("c"));
  Hash other;
  other.add(std::string_view("a"));
  other.add(std::string_view("bc"));
  EXPECT_NE(one.value(), other.value());
}

}  // namespace
}  // namespace headscope
