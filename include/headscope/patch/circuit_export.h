#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/patch/agreement.h"
#include "headscope/patch/component_effects.h"
#include "headscope/relate/component.h"

namespace headscope {

/// An edge of the circuit.
struct CircuitEdge {
  std::string pair;  ///< "OQ", "OK", "OV", "OM" or "OU".
  ComponentId source;
  ComponentId target;
  EdgeKind kind = EdgeKind::kGiven;
  std::optional<double> pk = {};       ///< Between heads.
  std::optional<double> overlap = {};  ///< To an MLP or the unembedding, if it is defined.
  std::optional<double> z = {};
  std::optional<double> local = {};  ///< Between heads.
  double effect = 0;
};

/// The edges of the circuit: those of `in_circuit`; without controls, all given edges, because there is no level.
[[nodiscard]] std::vector<CircuitEdge> circuit_of(std::span<const MeasuredEdge> edges,
                                                  std::span<const MeasuredCut> cuts);

/// GraphML for networkx, igraph, yEd and Gephi: the components at the ends of the edges, with layer, head and kind
/// ("query", "kv", "mlp" or "unembedding"); edges with pair, pk or overlap, z, local, effect and weight = |effect|.
/// Numbers round-trip exactly.
[[nodiscard]] std::string circuit_graphml(std::span<const CircuitEdge> circuit);

}  // namespace headscope
