#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headscope {

/// Magnitudes of floats, sorted into classes that agree to seven bits of their mantissas: all that the sorted curve is
/// needed for, in one pass and without sorting.
class Magnitudes {
 public:
  Magnitudes();

  void add(std::span<const float> values);
  void remove(float value);
  void add(const Magnitudes& other);

  [[nodiscard]] double count() const noexcept { return count_; }
  /// Sum of all.
  [[nodiscard]] double l1() const noexcept;
  /// Sum of the squares of all.
  [[nodiscard]] double energy() const noexcept;
  /// Sum of the squares of the k largest.
  [[nodiscard]] double top_energy(double k) const noexcept;
  /// How many of the largest have this sum of squares.
  [[nodiscard]] double needed(double energy) const noexcept;
  /// The magnitude at each rank (from 1, ascending).
  [[nodiscard]] std::vector<double> at_ranks(std::span<const std::size_t> ranks) const;

 private:
  struct Class {
    double count = 0;
    double sum = 0;
    double energy = 0;
  };
  std::vector<Class> classes_;  // ascending
  double count_ = 0;
};

}  // namespace headscope
