#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headscope/relate/affinity.h"

namespace headscope {

/// KL(random || observed) from counts per bin that random touches: sum of p ln(p n / c), where `total` n also counts
/// observations in other bins. If a bin is empty, half a count is added to every bin first, and `smoothed` is set.
[[nodiscard]] double divergence_of_counts(std::span<const double> random, std::span<const double> counts, double total,
                                          bool* smoothed = nullptr);

/// The largest divergence that `total` observations can show: none of them is in a bin that random touches, and every
/// such bin has half a count.
[[nodiscard]] double divergence_ceiling(std::span<const double> random, double total);

/// Share of random's mass in bins with fewer than 5 observations, half counts included. What such bins contribute is
/// not known to within a factor.
[[nodiscard]] double mass_in_sparse_bins(std::span<const double> random, std::span<const double> counts);
/// An interval is given if that share is at most this, ...
inline constexpr double kMostSparseMass = 0.1;
/// ... and if the divergence is at most this share of its ceiling. On planted data beyond that, intervals cover the
/// truth in 0 to 81 % of cases.
inline constexpr double kMostOfCeiling = 0.4;

/// One pair of heads, by index into a list of heads, and the bin of its affinity; `bin` is the number of bins if random
/// does not touch it.
struct BinnedPair {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint32_t bin = 0;
};

/// 95 % interval of the divergence by bootstrap over heads: the truth is what heads drawn from the same population
/// would give, in the limit of many.
///
/// Every draw resamples the query heads and the KV heads with replacement; a pair counts as often as its source times
/// its target. A head keeps its multiplicity on both sides, so dependence through shared heads is included. Such a
/// bootstrap exaggerates the variance of what is specific to a pair by up to three times (Owen, 2007). Its deviations
/// are therefore scaled to the variance of the linearized divergence over pairs that share a head (as for dyadic data),
/// times a margin (1.1 + 3 / heads)^2 for few heads; never up. The quantiles are corrected for the bias that
/// the draws show. If the value does not exceed the 95 % quantile for as many independent random pairs, the lower end
/// is 0, because a divergence estimated from counts is always positive.
///
/// Checked on planted data (row and column effects from 0 to 6 deviations, correlated, skewed, by layer; grouped
/// queries; 64 to 9,504 pairs): see docs/relate.md.
///
/// `key_value[i]` says whether head i is a KV head. Cost: draws * pairs. The result depends on the seed, not on
/// threads.
[[nodiscard]] std::pair<double, double> divergence_interval(std::span<const double> random,
                                                            std::span<const BinnedPair> pairs,
                                                            const std::vector<bool>& key_value, std::size_t draws,
                                                            std::uint64_t seed);

}  // namespace headscope
