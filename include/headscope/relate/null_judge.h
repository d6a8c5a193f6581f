#pragma once

#include <cstddef>
#include <functional>

#include "headscope/relate/null_model.h"

namespace headscope {

/// How unusual one affinity is under a null.
struct PairScore {
  float z = 0;
  float log10_p = 0;
  PairNull null = {};
};

/// z, the natural logarithm of p, and what they come from, on the scale of the law.
struct Judged {
  double z = 0;
  double log_p = 0;
  NullLaw law = NullLaw::kNone;
  NullMoments moments = {};
};

/// The score of a projection kernel of ranks p and q in n dimensions under a Beta law with the given mean and
/// deviation, on [max(0, p + q - n), min(p, q)].
[[nodiscard]] Judged judge_pk(double value, std::size_t p, std::size_t q, std::size_t n, const NullMoments& moments);

/// The score of an earlier-to-later pair, given by its row and column. Takes up to a microsecond, and gives the same
/// bits every time.
using NullJudge = std::function<PairScore(std::size_t, std::size_t)>;

/// The judge of one null, as `significance`. The affinities and `matched` must outlive it. The span null reads all
/// earlier-to-later pairs now, which takes up to 16 bytes per pair for the time of the call.
[[nodiscard]] NullJudge null_judge(const Affinities& affinities, NullModel null, std::size_t dimension,
                                   const MatchedLaw& matched);

}  // namespace headscope
