#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "headscope/relate/affinity.h"
#include "headscope/relate/null_model.h"

namespace headscope {

/// How far the observed projection kernels of a role pair are from those of random subspaces: KL(random || observed),
/// natural logarithm, over earlier-to-later pairs (PK, arXiv 2601.10266, figure 8). Random is Gaussian with the
/// isotropic moments at full rank.
struct Informativeness {
  RolePair pair;
  std::size_t pairs = 0;  ///< Earlier-to-later pairs of heads.
  double observed_mean = 0;
  double observed_deviation = 0;
  NullMoments random;
  double paper_width = 0.252;  ///< Bins of this width starting at 0, as in the paper.
  double paper = 0;
  bool paper_smoothed = false;  ///< See `binned_divergence`.
  /// 95 % interval of `paper` by bootstrap over heads. Empty if more than a tenth of random's mass is in bins with
  /// fewer than 5 pairs, or `paper` is above 0.4 of its ceiling: no interval covers the truth then.
  std::optional<double> paper_low = {};
  std::optional<double> paper_high = {};
  double sparse_mass = 0;  ///< Share of random's mass in bins with fewer than 5 pairs.
  /// The largest `paper` that this number of pairs can show, since an empty bin counts as half a pair: none of them in
  /// a bin that random touches.
  double ceiling = 0;
  /// `paper` is at least 0.9 of the ceiling. It then shows the number of pairs rather than how far they are from
  /// random.
  bool at_ceiling = false;
  double fine_width = 0;  ///< Half the standard deviation of random.
  double fine = 0;
  bool fine_smoothed = false;
  /// Holds for Gaussian data only, which affinities of trained models are not. With observed also modeled as Gaussian:
  /// ln(s/r) + (r^2 + (m_r - m_s)^2) / (2 s^2) - 1/2, where r and s are the standard deviations of random and observed.
  double closed_form = 0;
};

struct BootstrapOptions {
  std::size_t draws = 400;  ///< 0: no intervals.
  std::uint64_t seed = 0;
};

/// Cost: one pass over the pairs per bootstrap draw. The result does not depend on the number of threads.
/// \throws Error  kInvalidArgument if the metric is not pk, there is no earlier-to-later pair, or the heads fill the
///                residual stream, so that random has no spread.
[[nodiscard]] Informativeness informativeness(const Affinities& affinities, std::size_t d_model,
                                              std::size_t source_width, std::size_t target_width,
                                              const BootstrapOptions& bootstrap = {});

/// KL(random || observed) over bins [k w, (k + 1) w). The mass of random is a difference of Gaussian distribution
/// functions; that of observed is a count divided by the total. If a bin where random has mass (over 1e-12) has no
/// observation, half a count is added to every such bin, and `smoothed` is true.
struct BinnedDivergence {
  double value = 0;
  bool smoothed = false;
};
[[nodiscard]] BinnedDivergence binned_divergence(const NullMoments& random, std::span<const double> observed,
                                                 double width);

}  // namespace headscope
