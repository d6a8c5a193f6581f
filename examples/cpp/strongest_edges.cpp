// Prints the ten strongest edges beyond chance between the attention heads of a checkpoint.
#include <headscope/headscope.h>

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) try {
  headscope::RelateRequest request;
  request.model.path = argc > 1 ? argv[1] : "models/demo";
  auto edges = headscope::run(request).value().result.edges;
  std::erase_if(edges, [](const headscope::Edge& edge) { return !edge.beyond_chance; });
  std::ranges::sort(edges, std::greater{}, &headscope::Edge::z);
  edges.resize(std::min<std::size_t>(10, edges.size()));
  for (const headscope::Edge& edge : edges) {
    std::printf("%s %s -> %s  pk %.3f  z %.1f\n", to_string(edge.pair).c_str(), to_string(edge.source).c_str(),
                to_string(edge.target).c_str(), edge.score, edge.z);
  }
} catch (const headscope::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
