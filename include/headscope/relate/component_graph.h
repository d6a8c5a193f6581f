#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"
#include "headscope/relate/hubs.h"
#include "headscope/relate/overlap.h"
#include "headscope/relate/relate.h"

namespace headscope {

/// An overlap that was selected, from a component to one that reads later.
struct ComponentEdge {
  std::string pair;  ///< How the source writes and the target reads, e.g. "OM".
  ComponentId source;
  ComponentId target;
  float overlap = 0;
  std::optional<float> pk = {};  ///< pk / sqrt(p q), if both have a basis.
  std::size_t rank = 0;          ///< Within its pair: by overlap among edges beyond chance, then among the others.
  EdgeScore isotropic = {};
  EdgeScore span = {};
  double q = 1;                ///< See `ComponentGraph`; at least `kSmallestP`.
  bool beyond_chance = false;  ///< q <= 0.05.
  bool stands_out = false;     ///< Beyond chance, and q <= 0.05 under span.
};

/// How many pairs of components are beyond chance.
struct ComponentCount {
  std::string pair;  ///< "all" for all together.
  std::size_t pairs = 0;
  std::size_t beyond_chance = 0;
  std::size_t stands_out = 0;
};

/// The components of a model and which of them share more directions than chance explains.
struct ComponentGraph {
  Overlaps overlaps = {};
  std::vector<ComponentEdge> edges = {};    ///< By pair, then by rank.
  std::vector<ComponentCount> wiring = {};  ///< Per pair, then all together.
  HeadGraph graph = {};                     ///< The edges, with all components as nodes; z is that of span.
  GraphMeasures measures = {};
  std::vector<Hub> hubs = {};
  std::vector<std::string> warnings = {};
};

/// Compares components (`compute_overlaps`), judges every pair and builds the graph.
///
/// Isotropic null: a random rotation of one of the two densities, whose mean, variance and third cumulant are exact
/// (`isotropic_moments`); p from the law of type III with these moments, between heads from a Beta law. Span null:
/// median and median absolute deviation of the overlaps of the same pair and layer distance, or of the whole pair if
/// that class has fewer than `kSmallSpanClass` members; pairs with fewer than that in all never stand out. There is no
/// matched null for densities: beyond chance is q <= 0.05 under isotropic, over all pairs of components (Benjamini and
/// Yekutieli).
///
/// Of `options`, uses the selection, the weight processing, `top`, `q_level` and the seed. `affinities` are those of
/// `relate`; pk of the pairs that start with O is taken from them, or computed if it is not there. Not collective.
///
/// \throws Error  as `compute_overlaps`.
[[nodiscard]] ComponentGraph relate_components(const Model& model, const ComponentChoice& choice,
                                               const RelateOptions& options, std::span<const Affinities> affinities,
                                               const Context& context = {});

/// Every edge from a head to the MLPs and the unembedding, as far as `choice` has them, by pair and then by rank.
/// Components that are zero have none. Beyond chance refers to the pairs that are compared here.
/// \throws Error  as `compute_overlaps`.
[[nodiscard]] std::vector<ComponentEdge> judge_heads_to_components(const Model& model, const ComponentChoice& choice,
                                                                   const RelateOptions& options,
                                                                   const Context& context = {});

}  // namespace headscope
