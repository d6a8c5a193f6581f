#include "organize/magnitudes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headscope {
namespace {

constexpr std::size_t kClasses = std::size_t{1} << 15;  // 8 bits of exponent, 7 of mantissa

std::size_t class_of(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU) >> 16;
}

}  // namespace

Magnitudes::Magnitudes() : classes_(kClasses) {}

void Magnitudes::add(std::span<const float> values) {
  for (const float value : values) {
    Class& here = classes_[class_of(value)];
    const double magnitude = std::abs(static_cast<double>(value));
    ++here.count;
    here.sum += magnitude;
    here.energy += magnitude * magnitude;
  }
  count_ += static_cast<double>(values.size());
}

void Magnitudes::remove(float value) {
  Class& here = classes_[class_of(value)];
  const double magnitude = std::abs(static_cast<double>(value));
  --here.count;
  --count_;
  // Nothing is left of a class that is empty, not even rounding.
  here.sum = here.count == 0 ? 0 : std::max(0.0, here.sum - magnitude);
  here.energy = here.count == 0 ? 0 : std::max(0.0, here.energy - magnitude * magnitude);
}

void Magnitudes::add(const Magnitudes& other) {
  for (std::size_t i = 0; i < kClasses; ++i) {
    classes_[i].count += other.classes_[i].count;
    classes_[i].sum += other.classes_[i].sum;
    classes_[i].energy += other.classes_[i].energy;
  }
  count_ += other.count_;
}

double Magnitudes::l1() const noexcept {
  double sum = 0;
  for (const Class& here : classes_) sum += here.sum;
  return sum;
}

double Magnitudes::energy() const noexcept {
  double sum = 0;
  for (const Class& here : classes_) sum += here.energy;
  return sum;
}

double Magnitudes::top_energy(double k) const noexcept {
  double sum = 0;
  for (auto here = classes_.rbegin(); here != classes_.rend() && k > 0; ++here) {
    if (here->count == 0) continue;
    sum += here->energy * std::min(1.0, k / here->count);
    k -= here->count;
  }
  return sum;
}

double Magnitudes::needed(double energy) const noexcept {
  double taken = 0;
  for (auto here = classes_.rbegin(); here != classes_.rend(); ++here) {
    if (here->count == 0 || here->energy == 0) continue;
    if (here->energy >= energy) return taken + std::ceil(energy / here->energy * here->count);
    energy -= here->energy;
    taken += here->count;
  }
  return taken;
}

std::vector<double> Magnitudes::at_ranks(std::span<const std::size_t> ranks) const {
  std::vector<double> result;
  double passed = 0;
  auto here = classes_.rbegin();
  for (const std::size_t rank : ranks) {
    while (here != classes_.rend() && passed + here->count < static_cast<double>(rank)) passed += (here++)->count;
    result.push_back(here == classes_.rend() || here->count == 0 ? 0 : here->sum / here->count);
  }
  return result;
}

}  // namespace headscope
