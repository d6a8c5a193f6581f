#include "headscope/base/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "headscope/base/message.h"
#include "support/expect_error.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

std::vector<std::byte> bytes_of(std::size_t number) {
  MessageWriter writer;
  writer.put(number);
  return std::move(writer).release();
}

std::size_t number_of(std::span<const std::byte> bytes) {
  return MessageReader(bytes).take<std::size_t>();
}

TEST(Ranks, OneRankNeedsNobody) {
  Ranks& ranks = one_rank();
  EXPECT_TRUE(ranks.is_root());
  EXPECT_EQ(ranks.size(), 1U);
  ranks.begin_shift(bytes_of(5));
  EXPECT_EQ(number_of(ranks.finish_shift()), 5U);
  ranks.barrier();
  EXPECT_EQ(ranks.any({0, 1}), (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(ranks.largest(3), 3U);
  EXPECT_EQ(ranks.together([] { return 4; }), 4);
  EXPECT_ERROR(ranks.agree(Error(ErrorKind::kNumeric, "a NaN")), ErrorKind::kNumeric, "a NaN");
}

TEST(Ranks, GatherGivesRankZeroWhatEveryoneHas) {
  test::on_ranks(4, [](Ranks& ranks) {
    std::vector<std::size_t> found;
    ranks.gather(bytes_of(10 * ranks.rank()), [&](std::size_t from, std::span<const std::byte> bytes) {
      EXPECT_EQ(number_of(bytes), 10 * from);
      found.push_back(from);
    });
    EXPECT_EQ(found, ranks.is_root() ? (std::vector<std::size_t>{1, 2, 3}) : std::vector<std::size_t>());
  });
}

TEST(Ranks, BroadcastAnyAndLargestAreTheSameEverywhere) {
  test::on_ranks(3, [](Ranks& ranks) {
    std::vector<std::byte> bytes = bytes_of(ranks.rank() + 7);
    ranks.broadcast(bytes);
    EXPECT_EQ(number_of(bytes), 7U);
    std::vector<std::uint8_t> flags(4, 0);
    flags[ranks.rank()] = 1;
    EXPECT_EQ(ranks.any(flags), (std::vector<std::uint8_t>{1, 1, 1, 0}));
    EXPECT_EQ(ranks.largest(ranks.rank() * ranks.rank()), 4U);
    ranks.barrier();
  });
}

TEST(Ranks, AShiftGoesAroundTheRing) {
  test::on_ranks(3, [](Ranks& ranks) {
    std::vector<std::byte> here = bytes_of(ranks.rank());
    for (std::size_t step = 1; step <= 3; ++step) {
      ranks.begin_shift(std::move(here));
      here = ranks.finish_shift();
      EXPECT_EQ(number_of(here), (ranks.rank() + 3 - step) % 3);
    }
  });
}

TEST(Ranks, WhatOneRankCannotReadIsABackendErrorOfAll) {
  std::atomic<int> thrown = 0;
  test::on_ranks(3, [&](Ranks& ranks) {
    try {
      (void)ranks.together([&]() -> int {
        if (ranks.rank() == 2) throw Error(ErrorKind::kIo, "model: no such file");
        return 1;
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBackend);
      EXPECT_STREQ(error.what(), "rank 2 on machine2: model: no such file");
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 3);
}

TEST(Ranks, WhatRankZeroCannotReadIsBadInput) {
  std::atomic<int> thrown = 0;
  test::on_ranks(3, [&](Ranks& ranks) {
    try {
      (void)ranks.together([]() -> int { throw Error(ErrorKind::kIo, "model: no such file"); });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIo);
      EXPECT_STREQ(error.what(), "model: no such file");
      ++thrown;
    }
  });
  EXPECT_EQ(thrown, 3);
}

TEST(Ranks, NobodyWaitsForARankThatHasFailed) {
  std::atomic<int> told = 0;
  test::on_ranks(3, [&](Ranks& ranks) {
    if (ranks.rank() == 1) return ranks.announce_failure(4, "a NaN");
    try {
      ranks.barrier();
    } catch (const RankFailed& failed) {
      EXPECT_EQ(failed.rank(), 1U);
      EXPECT_EQ(failed.code(), 4);
      EXPECT_STREQ(failed.what(), "a NaN");
      ++told;
    }
  });
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace headscope
