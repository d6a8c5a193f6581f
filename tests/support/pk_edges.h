#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "headscope/relate/head_graph.h"

namespace headscope::test {

/// The 60 edges of the PK paper's three top-20 lists for GPT-2 small (arXiv 2601.10266, figures), as "source>target".
/// The paper draws them without numbers.
inline const std::vector<std::pair<std::string, std::string>> kPkEdges = {
    {"OQ",
     "4.7>5.1 4.11>5.1 4.7>5.6 4.11>5.6 4.7>6.8 4.11>6.8 4.7>7.2 7.3>8.3 5.5>7.1 6.6>7.1 5.3>6.10 1.7>2.1 7.6>8.10 "
     "8.10>9.4 8.10>9.6 8.10>10.6 8.10>10.1 8.7>10.11 10.0>11.2 10.7>11.10"},
    {"OK",
     "4.7>5.0 4.7>5.1 4.7>5.5 4.7>5.8 4.7>6.9 4.7>7.2 4.7>7.10 4.7>8.1 4.11>5.0 4.11>5.1 4.11>5.5 4.11>5.8 4.11>6.9 "
     "4.11>7.2 4.11>7.10 4.11>8.1 4.11>7.11 5.6>6.9 5.6>7.2 5.6>7.10"},
    {"OV",
     "1.0>4.7 1.11>4.7 2.2>4.7 3.7>4.7 3.10>4.7 3.0>4.3 4.7>5.2 4.7>8.3 5.5>6.6 5.10>7.1 5.11>7.1 5.11>6.4 7.1>9.3 "
     "8.10>9.3 7.7>8.5 7.7>8.7 9.0>11.3 9.2>11.3 10.0>11.3 9.11>11.8"},
};

/// The edges above as a graph over the 144 heads, each with score, weight and z of 1.
inline HeadGraph pk_graph() {
  std::vector<HeadId> nodes;
  for (std::size_t i = 0; i < 144; ++i) nodes.push_back({i / 12, i % 12, false});
  std::vector<HeadEdge> edges;
  for (const auto& [pair, list] : kPkEdges) {
    std::istringstream words(list);
    for (std::string word; words >> word;) {
      const HeadId source = parse_head(word.substr(0, word.find('>'))).value();
      const HeadId target = parse_head(word.substr(word.find('>') + 1)).value();
      edges.push_back({source.layer * 12 + source.head, target.layer * 12 + target.head, pair, 1, 1, 1});
    }
  }
  return {std::move(nodes), std::move(edges)};
}

}  // namespace headscope::test
