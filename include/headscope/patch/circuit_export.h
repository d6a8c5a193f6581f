#pragma once

#include <span>
#include <string>

#include "headscope/patch/agreement.h"

namespace headscope {

/// The edges of the circuit: those of `in_circuit`; without controls, all given edges, because there is no level.
[[nodiscard]] std::vector<MeasuredEdge> circuit_of(std::span<const MeasuredEdge> edges);

/// GraphML for networkx, igraph, yEd and Gephi: the heads at the ends of the edges, with layer, head and kind ("query"
/// or "kv"); edges with pair, pk, z, local, effect and weight = |effect|. Numbers round-trip exactly.
[[nodiscard]] std::string circuit_graphml(std::span<const MeasuredEdge> circuit);

}  // namespace headscope
