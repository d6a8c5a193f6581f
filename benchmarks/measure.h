#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace headscope::bench {

/// Seconds that one call takes.
inline double seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Times of two pieces of work, and their ratio.
struct Comparison {
  double ours;   ///< Median seconds.
  double floor;  ///< Median seconds.
  double ratio;  ///< Median of ours / floor over the rounds.
};

/// Times both alternately, after a warm-up round. Temporary load on the machine slows both in a round, so the ratio
/// within a round is steadier than the times.
inline Comparison compare(const std::function<void()>& ours, const std::function<void()>& floor, int rounds) {
  std::vector<double> our_times;
  std::vector<double> floor_times;
  std::vector<double> ratios;
  ours();
  floor();
  for (int round = 0; round < rounds; ++round) {
    floor_times.push_back(seconds(floor));
    our_times.push_back(seconds(ours));
    ratios.push_back(our_times.back() / floor_times.back());
  }
  return {median(our_times), median(floor_times), median(ratios)};
}

}  // namespace headscope::bench
