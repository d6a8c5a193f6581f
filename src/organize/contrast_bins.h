#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "headscope/organize/regularity.h"
#include "headscope/organize/tensor_haar.h"

namespace headscope {

/// Magnitudes that were taken of each bin, in any order.
template <typename T>
using BinSamples = std::vector<std::vector<T>>;
/// Those of another part of the same tensor beside them.
template <typename T>
void add_samples(BinSamples<T>& samples, BinSamples<T> other) {
  if (samples.empty()) {
    samples = std::move(other);
    return;
  }
  for (std::size_t b = 0; b < other.size(); ++b) samples[b].insert(samples[b].end(), other[b].begin(), other[b].end());
}

/// The contrasts of a tensor binned by log2 of their folder volume, and which of each bin are looked at.
///
/// A volume is a product of one number an axis, and of these there are few: how many coefficients a bin has, and what
/// their mean volume is, follows from how often each occurs. No coefficient is looked at for it.
class ContrastBins {
 public:
  explicit ContrastBins(const TensorHaar& haar);

  struct Bin {
    std::size_t count = 0;
    double depth = 0;        ///< Sum of -log2 of the volumes.
    std::uint32_t last = 0;  ///< Coefficients are taken whose place, as a number of 32 bits, is not above this.
  };
  [[nodiscard]] std::span<const Bin> bins() const noexcept { return bins_; }

  /// Adds the magnitudes that are taken of the coefficients of one head (or head coefficient) from position
  /// query * keys + key = `first` on. Whether one is taken depends on nothing but where it is in the tensor, so that
  /// parts of a tensor together give the samples of the whole.
  template <typename T>
  void sample(std::size_t head, std::size_t first, std::span<const T> coefficients, BinSamples<T>& samples) const;

 private:
  // The coefficients of an axis by their depth, -log2 of the volume; equal depths are one class.
  struct Axis {
    Axis(const TensorHaar& haar, std::size_t axis);

    std::size_t begin = 0;                 // the first contrast
    std::vector<std::uint32_t> classes;    // of every coefficient
    std::vector<double> depths;            // of every class
    std::vector<std::size_t> occurrences;  // of every class, among contrasts
  };

  template <typename T>
  [[nodiscard]] BinSamples<T> room_for(std::size_t coefficients) const;
  [[nodiscard]] const std::uint8_t* bins_of_row(std::size_t head, std::size_t query) const noexcept;

  std::array<Axis, 3> axes_;
  std::vector<std::uint8_t> bin_of_;  // [class of the head, of the query, of the key]
  std::vector<Bin> bins_;
};

/// `fit_regularity` of samples of all coefficients.
template <typename T>
[[nodiscard]] Regularity fit_regularity(const ContrastBins& bins, BinSamples<T> samples,
                                        const RegularityOptions& options = {});

}  // namespace headscope
