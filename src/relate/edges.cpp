#include "headscope/relate/edges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "relate/later_pairs.h"

namespace headscope {
namespace {

struct Candidate {
  std::size_t row;
  std::size_t column;
  bool beyond_chance;
  float closeness;  // larger is closer
};

// Closest first, those beyond chance before all others. Ties go to earlier heads.
bool is_before(const Candidate& a, const Candidate& b) {
  if (a.beyond_chance != b.beyond_chance) return a.beyond_chance;
  if (a.closeness != b.closeness) return a.closeness > b.closeness;
  return a.row != b.row ? a.row < b.row : a.column < b.column;
}

// Returns the first `top` of the candidates that `is_kept` accepts, in order. Takes memory for twice as many.
template <typename IsKept>
std::vector<Candidate> first_candidates(const Affinities& affinities, const Judgment* judgment, std::size_t top,
                                        const IsKept& is_kept) {
  constexpr std::size_t kFew = 4096;
  const bool distance = info(affinities.metric).distance;
  std::vector<Candidate> found;
  const auto drop_others = [&] {
    if (found.size() <= top) return;
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(top);
    std::ranges::nth_element(found, end, is_before);
    found.erase(end, found.end());
  };
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    if (affinities.source.ranks[i] == 0 || affinities.target.ranks[j] == 0 || !is_kept(i, j)) return;
    const float value = affinities.values(i, j);
    found.push_back({i, j, judgment != nullptr && judgment->beyond_chance(i, j), distance ? -value : value});
    if (found.size() / 2 >= std::max(top, kFew)) drop_others();
  });
  drop_others();
  std::ranges::sort(found, is_before);
  return found;
}

EdgeScore score_of(const NullVerdict& null, std::size_t i, std::size_t j) {
  const PairScore score = null.score(i, j);
  const auto log10_p = static_cast<double>(score.log10_p);
  return {static_cast<double>(score.z), shown_p(log10_p), shown_p(static_cast<double>(null.log10_q(i, j))), log10_p,
          score.null};
}

}  // namespace

std::vector<Edge> select_edges(const Affinities& affinities, const Judgment* judgment, std::size_t shown_nulls,
                               std::size_t top, std::optional<double> q_level) {
  const bool by_q = q_level && judgment != nullptr;
  const double log10_level = by_q ? std::log10(*q_level) : 0;
  const auto is_kept = [&](std::size_t i, std::size_t j) {
    return !by_q || static_cast<double>(judgment->log10_q(i, j)) <= log10_level;
  };
  const std::vector<Candidate> found =
      first_candidates(affinities, judgment, by_q ? std::numeric_limits<std::size_t>::max() : top, is_kept);

  std::vector<Edge> edges;
  for (const auto& [i, j, beyond_chance, closeness] : found) {
    Edge edge{affinities.pair, affinities.source.heads[i], affinities.target.heads[j], affinities.values(i, j),
              edges.size() + 1};
    if (judgment != nullptr) {
      for (std::size_t k = 0; k < shown_nulls; ++k) edge.nulls.push_back(score_of(judgment->nulls[k], i, j));
      edge.z = static_cast<double>(judgment->z(i, j));
      edge.q = shown_p(static_cast<double>(judgment->log10_q(i, j)));
      edge.beyond_chance = beyond_chance;
      edge.stands_out = judgment->stands_out(i, j);
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace headscope
