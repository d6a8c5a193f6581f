#include "headscope/base/random.h"

#include <bit>
#include <cmath>

namespace headscope {
namespace {

// Steele, Lea and Flood 2014: a bijection that decorrelates nearby seeds.
std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::initializer_list<std::uint64_t> stream) noexcept {
  std::uint64_t mixed = splitmix64(seed);
  for (const std::uint64_t part : stream) {
    std::uint64_t combined = mixed ^ (part + 0x9E3779B97F4A7C15U);
    mixed = splitmix64(combined);
  }
  for (std::uint64_t& word : state_) word = splitmix64(mixed);
}

std::uint64_t Random::bits() noexcept {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::size_t Random::index(std::size_t count) noexcept {
  // Reject values at or above the largest multiple of count, so that all remainders are equally likely.
  const std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % count;
  std::uint64_t value = bits();
  while (value >= limit) value = bits();
  return static_cast<std::size_t>(value % count);
}

double Random::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * std::log(square) / square);
  spare_ = y * scale;
  has_spare_ = true;
  return x * scale;
}

void Random::fill_normal(std::span<float> values) noexcept {
  for (float& value : values) value = static_cast<float>(normal());
}

}  // namespace headscope
