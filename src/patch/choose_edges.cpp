#include "headscope/patch/choose_edges.h"

#include <algorithm>
#include <compare>
#include <set>
#include <tuple>

#include "headscope/base/random.h"
#include "headscope/relate/edges.h"

namespace headscope {
namespace {

struct Before {
  bool operator()(const PatchEdge& a, const PatchEdge& b) const {
    return std::tie(a.role, a.source, a.target) < std::tie(b.role, b.source, b.target);
  }
};
using EdgeSet = std::set<PatchEdge, Before>;

std::vector<PatchEdge> closest(const Affinities& affinities, const Judgment& judgment, std::size_t top) {
  std::vector<PatchEdge> edges;
  for (const Edge& edge : select_edges(affinities, &judgment, 0, top, {})) {
    edges.push_back({edge.source, edge.pair.target, edge.target});
  }
  return edges;
}

std::vector<PatchEdge> largest(const Screen& screen, const HeadSizes& sizes, std::size_t top) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < screen.values.rows(); ++i) {
    for (std::size_t j = 0; j < screen.values.columns(); ++j) {
      if (screen.values(i, j) > 0) pairs.emplace_back(i, j);  // 0 where nothing flows
    }
  }
  const std::size_t count = std::min(top, pairs.size());
  std::ranges::partial_sort(pairs, pairs.begin() + static_cast<std::ptrdiff_t>(count),
                            [&](const auto& a, const auto& b) {
                              const float of_a = screen.values(a.first, a.second);
                              const float of_b = screen.values(b.first, b.second);
                              return of_a != of_b ? of_a > of_b : a < b;
                            });
  std::vector<PatchEdge> edges;
  for (std::size_t k = 0; k < count; ++k) {
    edges.push_back(edge_at(screen.role, pairs[k].first, pairs[k].second, sizes).value());
  }
  return edges;
}

// Random edges between the layers of another one, in its role, that are not taken yet.
void add_controls(const ChosenEdge& original, const HeadSizes& sizes, std::size_t count, Random& random, EdgeSet& taken,
                  std::vector<ChosenEdge>& chosen) {
  PatchEdge edge = original.edge;
  const std::size_t targets = sizes.heads_of(sizes.layer_of(edge.target).value(), edge.role);
  std::vector<PatchEdge> free;
  for (edge.source.head = 0; edge.source.head < sizes.heads; ++edge.source.head) {
    for (edge.target.head = 0; edge.target.head < targets; ++edge.target.head) {
      if (!taken.contains(edge)) free.push_back(edge);
    }
  }
  for (std::size_t k = 0; k < count && !free.empty(); ++k) {
    const std::size_t drawn = random.index(free.size());
    taken.insert(free[drawn]);
    chosen.push_back({free[drawn], EdgeKind::kControl, original.kind});
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(drawn));
  }
}

}  // namespace

std::string_view to_string(EdgeKind kind) noexcept {
  switch (kind) {
    case EdgeKind::kTop:
      return "top";
    case EdgeKind::kScreen:
      return "screen";
    case EdgeKind::kGiven:
      return "given";
    case EdgeKind::kControl:
      return "control";
  }
  return "unknown";
}

std::vector<ChosenEdge> choose_edges(const Wiring& wiring, std::span<const Screen> screens, const HeadSizes& sizes,
                                     const EdgeChoice& choice) {
  std::vector<ChosenEdge> all;
  for (std::size_t r = 0; r < screens.size(); ++r) {
    std::vector<ChosenEdge> chosen;
    EdgeSet taken;
    const auto add = [&](const std::vector<PatchEdge>& edges, EdgeKind kind) {
      for (const PatchEdge& edge : edges) {
        if (taken.insert(edge).second) chosen.push_back({edge, kind, kind});
      }
    };
    add(closest(wiring.affinities[r], wiring.judgments[r], choice.top), EdgeKind::kTop);
    add(largest(screens[r], sizes, choice.top), EdgeKind::kScreen);
    Random random(choice.seed, {static_cast<std::uint64_t>(screens[r].role)});
    const std::vector<ChosenEdge> originals = chosen;
    for (const ChosenEdge& one : originals) add_controls(one, sizes, choice.controls, random, taken, chosen);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  return all;
}

std::vector<ChosenEdge> with_controls(std::span<const PatchEdge> given, const HeadSizes& sizes,
                                      const EdgeChoice& choice) {
  std::vector<ChosenEdge> all;
  EdgeSet taken(given.begin(), given.end());
  for (const PatchEdge& edge : given) all.push_back({edge, EdgeKind::kGiven, EdgeKind::kGiven});
  Random random(choice.seed);
  const std::vector<ChosenEdge> originals = all;
  for (const ChosenEdge& one : originals) add_controls(one, sizes, choice.controls, random, taken, all);
  return all;
}

}  // namespace headscope
