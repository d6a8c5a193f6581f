#include "headscope/base/memory.h"

#include <gtest/gtest.h>

#include <limits>

#include "headscope/base/error.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

constexpr std::size_t kMega = std::size_t{1} << 20;
constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

TEST(Memory, SumsAndProductsSaturate) {
  EXPECT_EQ(saturating_add(2, 3), 5U);
  EXPECT_EQ(saturating_add(kMost, 1), kMost);
  EXPECT_EQ(saturating_multiply(2, 3), 6U);
  EXPECT_EQ(saturating_multiply(kMost / 2, 3), kMost);
  EXPECT_EQ(saturating_multiply(kMost, 0), 0U);
}

TEST(Memory, WhatFitsIsAccepted) {
  const Context context{.memory = 10 * kMega};
  EXPECT_NO_THROW(require_memory(context, 10 * kMega, "it"));
  EXPECT_NO_THROW(require_memory(context.without_memory(4 * kMega), 6 * kMega, "it"));
}

TEST(Memory, RefusalsNameTheWholeBudgetThatIsNeeded) {
  const Context context{.memory = 10 * kMega};
  EXPECT_ERROR(require_memory(context, 10 * kMega + 1, "it"), ErrorKind::kResource,
               "it needs about 11 MB of memory, but the budget is 10 MB; use a larger --memory, at least 11M");
  EXPECT_ERROR(require_memory(context.without_memory(4 * kMega), 7 * kMega, "it"), ErrorKind::kResource,
               "it needs about 11 MB of memory, but the budget is 10 MB; use a larger --memory, at least 11M");
}

TEST(Memory, ABudgetBelowWhatIsTakenIsNeverEnough) {
  const Context context = Context{.memory = 1000}.without_memory(4 * kMega);
  EXPECT_EQ(context.memory, 0U);
  EXPECT_ERROR(require_memory(context, 0, "it"), ErrorKind::kResource,
               "it needs about 5 MB of memory, but the budget is 1000 bytes; use a larger --memory, at least 5M");
}

TEST(Memory, EveryThreadCounts) {
  EXPECT_GT(process_footprint(8), process_footprint(1));
}

}  // namespace
}  // namespace headscope
