#include "app/hub_table.h"

namespace headscope::app {

Table hub_table(const FileSchema& file, const HeadGraph& graph, const GraphMeasures& measures,
                std::span<const Hub> hubs) {
  Table table = make_table(file);
  for (const Hub& hub : hubs) {
    const NodeMeasures& node = measures.nodes[hub.node];
    table.add_row({table.rows() + 1, to_string(graph.nodes()[hub.node]), hub.strength, node.in_degree, node.out_degree,
                   node.in_strength, node.out_strength, node.pagerank, node.hub, node.authority, node.betweenness,
                   hub.reason, hub.p_family, hub.significant});
  }
  return table;
}

}  // namespace headscope::app
