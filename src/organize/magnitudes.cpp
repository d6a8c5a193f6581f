#include "organize/magnitudes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

constexpr std::size_t kExponents = 256;
constexpr std::size_t kClassesEach = 128;  // per exponent: 7 mantissa bits

std::uint32_t magnitude_bits(float value) noexcept {
  return std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
}

// The smallest float of a class is base * 2^scale; the unit of the last 16 bits is 2^scale.
double base_of(std::uint64_t index) noexcept {
  const std::uint64_t hidden = index < kClassesEach ? 0 : std::uint64_t{1} << 23;  // subnormals lack the leading bit
  return static_cast<double>(hidden + (index % kClassesEach << 16));
}
int scale_of(std::uint64_t index) noexcept {
  return std::max(1, static_cast<int>(index / kClassesEach)) - 150;
}
bool is_finite(std::uint64_t index) noexcept {
  return index / kClassesEach < kExponents - 1;
}

// Dense array of all classes, used while counting. Count and sum of a class share a word, so that a float costs two
// additions: the last bits of 2^20 floats sum to less than 2^36.
class Tally {
 public:
  static constexpr std::size_t kMax = std::size_t{1} << 20;
  struct Sums {
    std::uint64_t counted = 0;
    std::uint64_t squares = 0;
  };
  static constexpr int kCountShift = 40;

  void add(std::span<const float> values) noexcept {
    for (const float value : values) {
      const std::uint32_t bits = magnitude_bits(value);
      const std::uint64_t low = bits & 0xFFFFU;
      Sums& here = sums_[bits >> 16];
      here.counted += (std::uint64_t{1} << kCountShift) + low;
      here.squares += low * low;
      met_[bits >> 23] = 1;
    }
  }

  // Calls visit(class, sums) for the nonempty classes, and clears them.
  template <typename Visit>
  void drain(const Visit& visit) {
    for (std::size_t exponent = 0; exponent < kExponents; ++exponent) {
      if (met_[exponent] == 0) continue;
      met_[exponent] = 0;
      for (std::size_t index = exponent * kClassesEach; index < (exponent + 1) * kClassesEach; ++index) {
        if (sums_[index].counted == 0) continue;
        visit(index, sums_[index]);
        sums_[index] = {};
      }
    }
  }

 private:
  std::vector<Sums> sums_ = std::vector<Sums>(kExponents * kClassesEach);
  std::array<std::uint8_t, kExponents> met_ = {};
};

}  // namespace

double Magnitudes::Class::sum() const noexcept {
  if (!is_finite(index)) return std::numeric_limits<double>::infinity();
  return std::ldexp(static_cast<double>(count) * base_of(index) + static_cast<double>(low), scale_of(index));
}

double Magnitudes::Class::energy() const noexcept {
  if (!is_finite(index)) return std::numeric_limits<double>::infinity();
  const double base = base_of(index);
  const double scaled =
      static_cast<double>(count) * base * base + 2 * base * static_cast<double>(low) + static_cast<double>(squares);
  return std::ldexp(scaled, 2 * scale_of(index));
}

void Magnitudes::add(std::span<const float> values) {
  thread_local Tally tally;  // half a megabyte, cheaper to clear than to allocate
  for (; !values.empty(); values = values.subspan(std::min(values.size(), Tally::kMax))) {
    tally.add(values.first(std::min(values.size(), Tally::kMax)));
    std::vector<Class> classes;
    tally.drain([&](std::uint64_t index, const Tally::Sums& sums) {
      constexpr std::uint64_t kLow = (std::uint64_t{1} << Tally::kCountShift) - 1;
      classes.push_back({index, sums.counted >> Tally::kCountShift, sums.counted & kLow, sums.squares});
    });
    add_classes(std::move(classes));
  }
}

void Magnitudes::add(const Magnitudes& other) {
  add_classes(other.classes_);
}

void Magnitudes::add_classes(std::vector<Class> classes) {
  if (classes_.empty()) {
    classes_ = std::move(classes);
    return;
  }
  std::vector<Class> both;
  both.reserve(classes_.size() + classes.size());
  auto own = classes_.begin();
  for (const Class& other : classes) {
    while (own != classes_.end() && own->index < other.index) both.push_back(*own++);
    both.push_back(other);
    if (own == classes_.end() || own->index != other.index) continue;
    both.back().count += own->count;
    both.back().low += own->low;
    both.back().squares += own->squares;
    ++own;
  }
  both.insert(both.end(), own, classes_.end());
  classes_ = std::move(both);
}

void Magnitudes::remove(float value) {
  const std::uint32_t bits = magnitude_bits(value);
  const std::uint64_t low = bits & 0xFFFFU;
  const auto here = std::ranges::lower_bound(classes_, bits >> 16, {}, &Class::index);
  here->low -= low;
  here->squares -= low * low;
  if (--here->count == 0) classes_.erase(here);
}

void Magnitudes::put(MessageWriter& message) const {
  message.put(classes_.size());
  message.put_all(std::span(classes_));
}

Magnitudes Magnitudes::take(MessageReader& message) {
  Magnitudes result;
  const std::span<const std::byte> bytes = message.take_bytes(message.take<std::size_t>() * sizeof(Class));
  result.classes_.resize(bytes.size() / sizeof(Class));
  MessageReader(bytes).take_all(std::span(result.classes_));
  return result;
}

double Magnitudes::count() const noexcept {
  std::uint64_t count = 0;
  for (const Class& here : classes_) count += here.count;
  return static_cast<double>(count);
}

double Magnitudes::l1() const noexcept {
  double sum = 0;
  for (const Class& here : classes_) sum += here.sum();
  return sum;
}

double Magnitudes::energy() const noexcept {
  double sum = 0;
  for (const Class& here : classes_) sum += here.energy();
  return sum;
}

double Magnitudes::top_energy(double k) const noexcept {
  double sum = 0;
  for (auto here = classes_.rbegin(); here != classes_.rend() && k > 0; ++here) {
    const auto count = static_cast<double>(here->count);
    sum += here->energy() * std::min(1.0, k / count);
    k -= count;
  }
  return sum;
}

double Magnitudes::needed(double energy) const noexcept {
  double taken = 0;
  for (auto here = classes_.rbegin(); here != classes_.rend(); ++here) {
    const auto count = static_cast<double>(here->count);
    const double of_class = here->energy();
    if (of_class == 0) continue;
    if (of_class >= energy) return taken + std::ceil(energy / of_class * count);
    energy -= of_class;
    taken += count;
  }
  return taken;
}

std::vector<double> Magnitudes::at_ranks(std::span<const std::size_t> ranks) const {
  std::vector<double> result;
  std::uint64_t passed = 0;
  auto here = classes_.rbegin();
  for (const std::size_t rank : ranks) {
    while (here != classes_.rend() && passed + here->count < rank) passed += (here++)->count;
    result.push_back(here == classes_.rend() ? 0 : here->sum() / static_cast<double>(here->count));
  }
  return result;
}

}  // namespace headscope
