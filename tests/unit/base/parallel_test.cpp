#include "headscope/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace headscope {
namespace {

class ParallelFor : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }
};

TEST_P(ParallelFor, CallsTheBodyOnceForEveryIndex) {
  std::vector<int> calls(1000, 0);
  parallel_for(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
}

TEST_P(ParallelFor, RethrowsWhatABodyThrows) {
  EXPECT_THROW(parallel_for(100,
                            [](std::size_t i) {
                              if (i == 37) throw std::runtime_error("37");
                            }),
               std::runtime_error);
}

TEST_P(ParallelFor, RunsOnOneThreadInsideAnother) {
  std::atomic<int> sum = 0;
  parallel_for(8, [&](std::size_t) { parallel_for(8, [&](std::size_t) { ++sum; }); });
  EXPECT_EQ(sum, 64);
}

TEST_P(ParallelFor, SaysHowManyThreadsItMayUse) {
  EXPECT_EQ(threads_here(), thread_count());
  std::vector<std::size_t> inside(8, 0);
  parallel_for(8, [&](std::size_t i) { inside[i] = threads_here(); });
  EXPECT_EQ(inside, std::vector<std::size_t>(8, 1));
  EXPECT_EQ(threads_here(), thread_count());
}

TEST_P(ParallelFor, CanBeCalledFromSeveralThreadsAtOnce) {
  std::atomic<int> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int i = 0; i < 200; ++i) parallel_for(10, [&](std::size_t) { ++sum; });
      });
    }
  }
  EXPECT_EQ(sum, 4 * 200 * 10);
}

TEST_P(ParallelFor, WorksAgainAfterABodyThrew) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(parallel_for(20, [](std::size_t) { throw 1; }), int);
    std::atomic<int> calls = 0;
    parallel_for(20, [&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 20);
  }
}

TEST_P(ParallelFor, DoesNothingForNothing) {
  parallel_for(0, [](std::size_t) { FAIL(); });
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, testing::Values(1, 2, 7));

TEST(ThreadCount, IsWhatWasSetAndAtLeastOneOtherwise) {
  set_thread_count(3);
  EXPECT_EQ(thread_count(), 3u);
  set_thread_count(0);
  EXPECT_GE(thread_count(), 1u);
}

}  // namespace
}  // namespace headscope
