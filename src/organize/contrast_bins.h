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

/// Sampled magnitudes per bin, in any order.
template <typename T>
using BinSamples = std::vector<std::vector<T>>;
/// Appends the samples of another part of the same tensor.
template <typename T>
void add_samples(BinSamples<T>& samples, BinSamples<T> other) {
  if (samples.empty()) {
    samples = std::move(other);
    return;
  }
  for (std::size_t b = 0; b < other.size(); ++b) samples[b].insert(samples[b].end(), other[b].begin(), other[b].end());
}

/// The contrasts of a tensor, binned by log2 of their folder volume, and which of each bin are sampled.
///
/// A volume is a product of one factor per axis, and each axis has few distinct factors. The number of coefficients per
/// bin and their mean volume follow from how often each factor occurs, without a pass over the coefficients.
class ContrastBins {
 public:
  explicit ContrastBins(const TensorHaar& haar);

  struct Bin {
    std::size_t count = 0;
    double depth = 0;        ///< Sum of -log2 of the volumes.
    std::uint32_t last = 0;  ///< A coefficient is sampled if its 32-bit hash is at most this.
  };
  [[nodiscard]] std::span<const Bin> bins() const noexcept { return bins_; }

  /// Adds the sampled magnitudes among the coefficients of one head (or head coefficient), starting at position query *
  /// keys + key = `first`. Whether a coefficient is sampled depends only on its position in the tensor, so the parts of
  /// a tensor together give the samples of the whole.
  template <typename T>
  void sample(std::size_t head, std::size_t first, std::span<const T> coefficients, BinSamples<T>& samples) const;

 private:
  // The coefficients of an axis by depth, -log2 of the volume; equal depths form one class.
  struct Axis {
    Axis(const TensorHaar& haar, std::size_t axis);

    std::size_t begin = 0;                 // first contrast
    std::vector<std::uint32_t> classes;    // per coefficient
    std::vector<double> depths;            // per class
    std::vector<std::size_t> occurrences;  // per class, counting contrasts only
  };

  template <typename T>
  [[nodiscard]] BinSamples<T> room_for(std::size_t coefficients) const;
  [[nodiscard]] const std::uint8_t* bins_of_row(std::size_t head, std::size_t query) const noexcept;

  std::array<Axis, 3> axes_;
  std::vector<std::uint8_t> bin_of_;  // [head class, query class, key class]
  std::vector<Bin> bins_;
};

/// `fit_regularity` from the samples of all coefficients.
template <typename T>
[[nodiscard]] Regularity fit_regularity(const ContrastBins& bins, BinSamples<T> samples,
                                        const RegularityOptions& options = {});

}  // namespace headscope
