#pragma once

#include <span>

#include "headscope/relate/graph_measures.h"
#include "headscope/relate/head_graph.h"
#include "headscope/relate/hubs.h"
#include "headscope/run/schema.h"

namespace headscope::app {

/// Makes the table of hubs of a graph. `file` is hubs.csv or component_hubs.csv, which have the same columns.
[[nodiscard]] Table hub_table(const FileSchema& file, const HeadGraph& graph, const GraphMeasures& measures,
                              std::span<const Hub> hubs);

}  // namespace headscope::app
