#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace headscope {

/// Random numbers that depend only on the seed and the stream: identical on every machine, with every compiler and
/// number of threads. Give every piece of parallel work its own stream, e.g. {role, draw}.
///
/// xoshiro256++ (Blackman and Vigna 2021), seeded by splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::initializer_list<std::uint64_t> stream = {}) noexcept;

  /// 64 random bits.
  [[nodiscard]] std::uint64_t bits() noexcept;
  /// Uniform in [0, 1).
  [[nodiscard]] double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in {0, ..., count - 1}, count > 0.
  [[nodiscard]] std::size_t index(std::size_t count) noexcept;
  /// Standard normal, by Marsaglia's polar method.
  [[nodiscard]] double normal() noexcept;
  void fill_normal(std::span<float> values) noexcept;

 private:
  std::uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace headscope
