#pragma once

#include <optional>
#include <string>

#include "headscope/model/head_sizes.h"
#include "headscope/relate/component_graph.h"

namespace headscope {

/// Writes the pairs of components as a circuit in the JSON of the circuit track of the Mechanistic Interpretability
/// Benchmark, which its tools and EAP-IG read with `Graph.from_json`:
///
///     {"cfg": {"n_layers": 12, "n_heads": 12, "parallel_attn_mlp": false, "d_model": 768},
///      "nodes": {"input": {"in_graph": true}, "a0.h0": ..., "m0": ..., "logits": ...},
///      "edges": {"input->a0.h0<q>": {"score": 1.2, "in_graph": false}, "a0.h0->m0": ..., "m11->logits": ...}}
///
/// `score` is the overlap, of all pairs; `in_graph` is set for kept edges beyond chance and the nodes that they join.
/// `input` is the token embedding and `logits` the unembedding; edges of components that were not compared are left
/// out. The format has no KV heads: an edge to the K or V of a KV head is written once for every query head that uses
/// it, with the same score. Positions are not in the format.
///
/// Returns nothing if MLPs were not compared, or if there are more than `kMostMibEdges` edges.
[[nodiscard]] std::optional<std::string> to_mib_json(const ComponentGraph& graph, const HeadSizes& sizes);

inline constexpr std::size_t kMostMibEdges = 4'000'000;

}  // namespace headscope
