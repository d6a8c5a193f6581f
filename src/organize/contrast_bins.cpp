#include "organize/contrast_bins.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

constexpr std::size_t kMaxTaken = 65536;  // per bin, approximately

// Hashes the row index to 32 bits, so that rows of neighboring folders are sampled at different keys. The finalizer of
// splitmix64.
std::uint32_t scatter(std::uint64_t row) noexcept {
  row += 0x9E3779B97F4A7C15U;
  row = (row ^ (row >> 30)) * 0xBF58476D1CE4E5B9U;
  row = (row ^ (row >> 27)) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>((row ^ (row >> 31)) >> 32);
}

// Multiples of the golden ratio modulo 1: whatever the sampled fraction, the samples of a row are evenly spaced.
constexpr std::uint32_t kStep = 0x9E3779B9U;

std::uint32_t last_taken(std::size_t count) noexcept {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
  if (count <= kMaxTaken) return static_cast<std::uint32_t>(kAll - 1);
  const double share = static_cast<double>(kMaxTaken) / static_cast<double>(count);
  return static_cast<std::uint32_t>(std::max(1.0, share * static_cast<double>(kAll)) - 1);
}

}  // namespace

ContrastBins::Axis::Axis(const TensorHaar& haar, std::size_t axis) {
  const std::size_t extent = haar.extents[axis];
  std::vector<double> depth(extent, 0);
  if (haar.bases[axis] != nullptr && extent > 1) {
    begin = 1;  // the constant is not a contrast
    for (std::size_t k = 1; k < extent; ++k) depth[k] = -std::log2(haar.bases[axis]->volumes()[k]);
  }
  depths.assign(depth.begin() + static_cast<std::ptrdiff_t>(begin), depth.end());
  std::ranges::sort(depths);
  depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
  classes.resize(extent, 0);
  occurrences.resize(depths.size(), 0);
  for (std::size_t k = begin; k < extent; ++k) {
    classes[k] = static_cast<std::uint32_t>(std::ranges::lower_bound(depths, depth[k]) - depths.begin());
    ++occurrences[classes[k]];
  }
}

ContrastBins::ContrastBins(const TensorHaar& haar) : axes_{Axis(haar, 0), Axis(haar, 1), Axis(haar, 2)} {
  const auto& [heads, queries, keys] = axes_;
  bin_of_.reserve(heads.depths.size() * queries.depths.size() * keys.depths.size());
  for (std::size_t h = 0; h < heads.depths.size(); ++h) {
    for (std::size_t q = 0; q < queries.depths.size(); ++q) {
      for (std::size_t k = 0; k < keys.depths.size(); ++k) {
        const double depth = heads.depths[h] + queries.depths[q] + keys.depths[k];
        // At most 3 * 64 doublings: fits in a byte.
        const auto bin = static_cast<std::size_t>(std::lround(depth));
        bin_of_.push_back(static_cast<std::uint8_t>(bin));
        if (bin >= bins_.size()) bins_.resize(bin + 1);
        const std::size_t count = heads.occurrences[h] * queries.occurrences[q] * keys.occurrences[k];
        bins_[bin].count += count;
        bins_[bin].depth += static_cast<double>(count) * depth;
      }
    }
  }
  for (Bin& bin : bins_) bin.last = last_taken(bin.count);
}

const std::uint8_t* ContrastBins::bins_of_row(std::size_t head, std::size_t query) const noexcept {
  const std::size_t row = axes_[0].classes[head] * axes_[1].depths.size() + axes_[1].classes[query];
  return bin_of_.data() + row * axes_[2].depths.size();
}

// Reserves space for the expected number of samples among this many coefficients.
template <typename T>
BinSamples<T> ContrastBins::room_for(std::size_t coefficients) const {
  const std::size_t all = axes_[0].classes.size() * axes_[1].classes.size() * axes_[2].classes.size();
  const double share = static_cast<double>(coefficients) / static_cast<double>(all);
  BinSamples<T> samples(bins_.size());
  for (std::size_t b = 0; b < bins_.size(); ++b) {
    samples[b].reserve(static_cast<std::size_t>(share * static_cast<double>(std::min(bins_[b].count, kMaxTaken))));
  }
  return samples;
}

template <typename T>
void ContrastBins::sample(std::size_t head, std::size_t first, std::span<const T> coefficients,
                          BinSamples<T>& samples) const {
  if (samples.empty()) samples = room_for<T>(coefficients.size());
  if (head < axes_[0].begin || coefficients.empty()) return;
  const std::size_t queries = axes_[1].classes.size();
  const std::size_t keys = axes_[2].classes.size();
  const std::size_t end = first + coefficients.size();
  for (std::size_t query = std::max(first / keys, axes_[1].begin); query * keys < end; ++query) {
    const std::size_t row = query * keys;
    const std::uint8_t* const bins = bins_of_row(head, query);
    const std::uint32_t start = scatter(head * queries + query);
    const std::size_t until = std::min(keys, end - row);
    for (std::size_t key = std::max(axes_[2].begin, first > row ? first - row : 0); key < until; ++key) {
      const std::uint8_t bin = bins[axes_[2].classes[key]];
      const std::uint32_t place = start + static_cast<std::uint32_t>(key) * kStep;
      if (place <= bins_[bin].last) samples[bin].push_back(std::abs(coefficients[row + key - first]));
    }
  }
}

template void ContrastBins::sample(std::size_t, std::size_t, std::span<const float>, BinSamples<float>&) const;
template void ContrastBins::sample(std::size_t, std::size_t, std::span<const double>, BinSamples<double>&) const;

}  // namespace headscope
