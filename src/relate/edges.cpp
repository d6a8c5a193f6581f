#include "relate/edges.h"

#include <algorithm>
#include <cmath>

#include "relate/later_pairs.h"

namespace headscope {
namespace {

struct Candidate {
  std::size_t row;
  std::size_t column;
  float closeness;  // larger is closer
};

std::vector<Candidate> candidates(const Affinities& affinities) {
  const bool distance = info(affinities.metric).distance;
  std::vector<Candidate> found;
  for_each_later(affinities, [&](std::size_t i, std::size_t j) {
    if (affinities.source.ranks[i] == 0 || affinities.target.ranks[j] == 0) return;
    const float value = affinities.values(i, j);
    found.push_back({i, j, distance ? -value : value});
  });
  return found;
}

}  // namespace

std::vector<Edge> select_edges(const Affinities& affinities, const std::vector<Significance>& nulls, std::size_t top,
                               std::optional<double> q_level) {
  std::vector<Candidate> found = candidates(affinities);
  if (q_level) {
    std::erase_if(found, [&](const Candidate& one) {
      return !(static_cast<double>(nulls.front().q(one.row, one.column)) < *q_level);
    });
  }
  const std::size_t kept = q_level ? found.size() : std::min(top, found.size());
  // Candidates are in head order, so ties go to earlier heads.
  std::ranges::stable_sort(found, std::ranges::greater(), &Candidate::closeness);
  found.resize(kept);

  std::vector<Edge> edges;
  for (const Candidate& one : found) {
    Edge edge{affinities.pair, affinities.source.heads[one.row], affinities.target.heads[one.column],
              affinities.values(one.row, one.column), edges.size() + 1};
    for (const Significance& null : nulls) {
      const auto z = static_cast<double>(null.z(one.row, one.column));
      edge.nulls.push_back({z, upper_tail(z), static_cast<double>(null.q(one.row, one.column))});
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace headscope
