#include "relate/edges.h"

#include <algorithm>
#include <cmath>

#include "relate/later_pairs.h"

namespace headscope {
namespace {

struct Candidate {
  std::size_t row;
  std::size_t column;
  bool beyond_chance;
  float closeness;  // larger is closer
};

std::vector<Candidate> candidates(const Affinities& affinities, const Judgment* judgment) {
  const bool distance = info(affinities.metric).distance;
  std::vector<Candidate> found;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    if (affinities.source.ranks[i] == 0 || affinities.target.ranks[j] == 0) return;
    const float value = affinities.values(i, j);
    found.push_back({i, j, judgment != nullptr && judgment->beyond_chance(i, j), distance ? -value : value});
  });
  return found;
}

EdgeScore score_of(const Significance& null, std::size_t i, std::size_t j) {
  const auto log10_p = static_cast<double>(null.log10_p(i, j));
  return {static_cast<double>(null.z(i, j)), shown_p(log10_p), shown_p(static_cast<double>(null.log10_q(i, j))),
          log10_p};
}

}  // namespace

std::vector<Edge> select_edges(const Affinities& affinities, const Judgment* judgment, std::size_t shown_nulls,
                               std::size_t top, std::optional<double> q_level) {
  std::vector<Candidate> found = candidates(affinities, judgment);
  if (q_level && judgment != nullptr) {
    std::erase_if(found, [&](const Candidate& one) {
      return !(static_cast<double>(judgment->log10_q(one.row, one.column)) <= std::log10(*q_level));
    });
    top = found.size();
  }
  // Candidates are in head order, so ties go to earlier heads.
  std::ranges::stable_sort(found, [](const Candidate& a, const Candidate& b) {
    return a.beyond_chance != b.beyond_chance ? a.beyond_chance : a.closeness > b.closeness;
  });
  found.resize(std::min(top, found.size()));

  std::vector<Edge> edges;
  for (const auto& [i, j, beyond_chance, closeness] : found) {
    Edge edge{affinities.pair, affinities.source.heads[i], affinities.target.heads[j], affinities.values(i, j),
              edges.size() + 1};
    if (judgment != nullptr) {
      for (std::size_t k = 0; k < shown_nulls; ++k) edge.nulls.push_back(score_of(judgment->nulls[k], i, j));
      edge.z = static_cast<double>(judgment->headline->z(i, j));
      edge.q = shown_p(static_cast<double>(judgment->log10_q(i, j)));
      edge.beyond_chance = beyond_chance;
      edge.stands_out = judgment->stands_out(i, j);
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace headscope
