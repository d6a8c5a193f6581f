#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/message.h"

namespace headscope {

/// Magnitudes of floats, sorted into classes that agree to seven bits of their mantissas: all that the sorted curve is
/// needed for, in one pass and without sorting.
///
/// The floats of a class have their exponent and the leading 7 of 23 bits of mantissa in common and differ in the last
/// 16, so that a class is said by three integers: how many they are, and the sums of their last 16 bits and of the
/// squares of those. These are exact: the same floats give the same numbers in whatever order and parts they are added,
/// and removing one undoes its adding. Exact for up to 2^32 floats in one class (its squares sum to less than 2^64);
/// of zeros, whose last bits are zero, there may be any number.
class Magnitudes {
 public:
  void add(std::span<const float> values);
  void add(const Magnitudes& other);
  /// One that was added before.
  void remove(float value);

  /// For another rank: classes that have something in them.
  void put(MessageWriter& message) const;
  [[nodiscard]] static Magnitudes take(MessageReader& message);

  [[nodiscard]] double count() const noexcept;
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

  friend bool operator==(const Magnitudes&, const Magnitudes&) = default;

 private:
  // Floats whose bits, the sign and the last 16 aside, are `index`.
  struct Class {
    std::uint64_t index = 0;
    std::uint64_t count = 0;
    std::uint64_t low = 0;      // sum of the last 16 bits
    std::uint64_t squares = 0;  // sum of their squares

    [[nodiscard]] double sum() const noexcept;
    [[nodiscard]] double energy() const noexcept;
    friend bool operator==(const Class&, const Class&) = default;
  };

  void add_classes(std::vector<Class> classes);

  std::vector<Class> classes_;  // those that have something in them, ascending
};

}  // namespace headscope
