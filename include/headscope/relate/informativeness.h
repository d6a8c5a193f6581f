#pragma once

#include <cstddef>
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
  double fine_width = 0;        ///< Half the standard deviation of random.
  double fine = 0;
  bool fine_smoothed = false;
  /// With observed also modeled as Gaussian: ln(s/r) + (r^2 + (m_r - m_s)^2) / (2 s^2) - 1/2, where r and s are the
  /// standard deviations of random and observed.
  double closed_form = 0;
};

/// \throws Error  kInvalidArgument if the metric is not pk, there is no earlier-to-later pair, or the heads fill the
///                residual stream, so that random has no spread.
[[nodiscard]] Informativeness informativeness(const Affinities& affinities, std::size_t d_model, std::size_t d_head);

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
