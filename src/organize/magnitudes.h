#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headscope/base/message.h"

namespace headscope {

/// Histogram of float magnitudes, in classes that agree to seven bits of mantissa. It gives all statistics of the
/// sorted curve in one pass, without sorting.
///
/// The floats of a class share the exponent and the leading 7 of 23 mantissa bits and differ in the last 16. A class is
/// stored as three integers: its count, and the sums of the last 16 bits and of their squares. These are exact: the
/// same floats give the same result in any order and partition, and removing a float undoes adding it. Exact for up to
/// 2^32 floats per class (the squares then sum to less than 2^64); the number of zeros, whose last bits are zero, is
/// not limited.
class Magnitudes {
 public:
  void add(std::span<const float> values);
  void add(const Magnitudes& other);
  /// Removes a value that was added before.
  void remove(float value);

  /// Serializes the nonempty classes for another rank.
  void put(MessageWriter& message) const;
  [[nodiscard]] static Magnitudes take(MessageReader& message);

  [[nodiscard]] double count() const noexcept;
  /// Sum of all magnitudes.
  [[nodiscard]] double l1() const noexcept;
  /// Sum of all squares.
  [[nodiscard]] double energy() const noexcept;
  /// Sum of the squares of the k largest magnitudes.
  [[nodiscard]] double top_energy(double k) const noexcept;
  /// Number of largest magnitudes whose squares sum to `energy`.
  [[nodiscard]] double needed(double energy) const noexcept;
  /// The magnitude at each rank (starting at 1, ascending).
  [[nodiscard]] std::vector<double> at_ranks(std::span<const std::size_t> ranks) const;

  friend bool operator==(const Magnitudes&, const Magnitudes&) = default;

 private:
  // Floats whose bits, without the sign and the last 16, are `index`.
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

  std::vector<Class> classes_;  // nonempty ones, ascending
};

}  // namespace headscope
