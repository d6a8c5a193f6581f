#include "headscope/base/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_EQ(ranks.all_reduce_or({0, 1}), (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(ranks.all_reduce_max(3), 3U);
  EXPECT_EQ(ranks.run_and_agree([] { return 4; }), 4);
  EXPECT_ERROR(ranks.agree(Error(ErrorKind::kNumeric, "a NaN")), ErrorKind::kNumeric, "a NaN");
}

// It may be one of a job of several that wait for it: those are told of an Error, not of what all know already.
TEST(Ranks, OneRankAloneThrowsItsOwnError) {
  try {
    (void)one_rank().run_and_agree([]() -> int { throw Error(ErrorKind::kIo, "model: no such file"); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(dynamic_cast<const AgreedError*>(&error), nullptr);
    EXPECT_EQ(error.kind(), ErrorKind::kIo);
  }
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

TEST(Ranks, AnExchangeGivesEveryRankWhatAllHaveForIt) {
  for (const std::size_t size : {1U, 2U, 5U}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      std::vector<std::size_t> counts;  // not equally many
      for (std::size_t to = 0; to < size; ++to) counts.push_back(to == ranks.rank() ? 0 : to + 1);
      const std::vector<std::span<float>> room = ranks.exchange_buffers(counts);
      ASSERT_EQ(room.size(), size);
      for (std::size_t to = 0; to < size; ++to) {
        ASSERT_EQ(room[to].size(), counts[to]);
        std::ranges::fill(room[to], static_cast<float>(10 * ranks.rank() + to));
      }
      ranks.begin_exchange();
      const std::vector<std::span<const float>> found =
          ranks.finish_exchange(std::vector<std::size_t>(size, ranks.rank() + 1));
      ASSERT_EQ(found.size(), size);
      EXPECT_TRUE(found[ranks.rank()].empty());
      for (std::size_t from = 0; from < size; ++from) {
        for (const float x : found[from]) EXPECT_EQ(x, static_cast<float>(10 * from + ranks.rank()));
      }
    });
  }
}

TEST(Ranks, AnExchangeOfWhatWasNotExpectedIsAnError) {
  const auto exchange_too_few = [](Ranks& ranks) {
    const std::size_t other = 1 - ranks.rank();
    std::vector<std::size_t> counts(2, 0);
    counts[other] = 3;
    std::ranges::fill(ranks.exchange_buffers(counts)[other], 0.0F);
    ranks.begin_exchange();
    static_cast<void>(ranks.finish_exchange(std::vector<std::size_t>(2, 4)));
  };
  EXPECT_ERROR(test::on_ranks(2, exchange_too_few), ErrorKind::kBackend, "sent 3 numbers, expected 4");
}

TEST(Ranks, SharesAreConsecutiveAndDifferByOne) {
  for (const std::size_t count : {0U, 1U, 7U, 100U}) {
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const IndexRange share = partition_range(count, rank, 3);
      EXPECT_EQ(share.begin, next);
      EXPECT_GE(share.size() + 1, (count + 2) / 3);
      next = share.end;
    }
    EXPECT_EQ(next, count);
  }
}

TEST(Ranks, ListsAreCombinedNumberByNumber) {
  test::on_ranks(3, [](Ranks& ranks) {
    const auto rank = static_cast<float>(ranks.rank());
    EXPECT_EQ(ranks.all_reduce_max(std::vector<float>{rank, -rank}), (std::vector<float>{2, 0}));
  });
}

TEST(Ranks, ListsAreAddedUpNumberByNumber) {
  for (const std::size_t count : {0U, 2U, 3U, 100U}) {  // also fewer than ranks
    test::on_ranks(3, [&](Ranks& ranks) {
      std::vector<std::int64_t> numbers(count);
      for (std::size_t i = 0; i < count; ++i) {
        numbers[i] = static_cast<std::int64_t>(i * (ranks.rank() + 1)) - (std::int64_t{1} << 60);
      }
      ranks.all_reduce_sum(numbers);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(numbers[i], static_cast<std::int64_t>(6 * i) - 3 * (std::int64_t{1} << 60));
      }
    });
  }
}

TEST(Ranks, BroadcastAnyAndLargestAreTheSameEverywhere) {
  test::on_ranks(3, [](Ranks& ranks) {
    std::vector<std::byte> bytes = bytes_of(ranks.rank() + 7);
    ranks.broadcast(bytes);
    EXPECT_EQ(number_of(bytes), 7U);
    std::vector<std::uint8_t> flags(4, 0);
    flags[ranks.rank()] = 1;
    EXPECT_EQ(ranks.all_reduce_or(flags), (std::vector<std::uint8_t>{1, 1, 1, 0}));
    EXPECT_EQ(ranks.all_reduce_max(ranks.rank() * ranks.rank()), 4U);
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
      (void)ranks.run_and_agree([&]() -> int {
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
      (void)ranks.run_and_agree([]() -> int { throw Error(ErrorKind::kIo, "model: no such file"); });
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
