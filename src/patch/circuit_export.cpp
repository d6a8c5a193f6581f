#include "headscope/patch/circuit_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include "headscope/relate/role_pair.h"

namespace headscope {
namespace {

struct Key {
  std::string_view id;
  std::string_view of;
  std::string_view name;
  std::string_view type;
};
constexpr std::array kKeys = std::to_array<Key>({{"n0", "node", "layer", "int"},
                                                 {"n1", "node", "head", "int"},
                                                 {"n2", "node", "kind", "string"},
                                                 {"e0", "edge", "pair", "string"},
                                                 {"e1", "edge", "pk", "double"},
                                                 {"e2", "edge", "z", "double"},
                                                 {"e3", "edge", "local", "double"},
                                                 {"e4", "edge", "effect", "double"},
                                                 {"e5", "edge", "weight", "double"}});

}  // namespace

std::vector<MeasuredEdge> circuit_of(std::span<const MeasuredEdge> edges) {
  const bool has_controls =
      std::ranges::any_of(edges, [](const MeasuredEdge& edge) { return edge.kind == EdgeKind::kControl; });
  std::vector<MeasuredEdge> circuit;
  std::ranges::copy_if(edges, std::back_inserter(circuit), [&](const MeasuredEdge& edge) {
    return has_controls ? edge.in_circuit && edge.kind != EdgeKind::kControl : edge.kind == EdgeKind::kGiven;
  });
  return circuit;
}

std::string circuit_graphml(std::span<const MeasuredEdge> circuit) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  const auto add = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
  };
  for (const Key& key : kKeys) {
    add("  <key id=\"{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n", key.id, key.of, key.name, key.type);
  }
  out += "  <graph edgedefault=\"directed\">\n";
  std::set<HeadId> heads;
  for (const MeasuredEdge& one : circuit) heads.insert({one.edge.source, one.edge.target});
  for (const HeadId& id : heads) {
    add("    <node id=\"{}\"><data key=\"n0\">{}</data><data key=\"n1\">{}</data><data key=\"n2\">{}</data></node>\n",
        to_string(id), id.layer, id.head, id.key_value ? "kv" : "query");
  }
  for (const MeasuredEdge& one : circuit) {
    add("    <edge source=\"{}\" target=\"{}\">", to_string(one.edge.source), to_string(one.edge.target));
    add("<data key=\"e0\">{}</data>", to_string(RolePair{Role::kO, one.edge.role}));
    const double effect = one.effect.value_or(0);
    const std::array numbers = {one.pk, one.z, one.local, effect, std::abs(effect)};
    for (std::size_t i = 0; i < numbers.size(); ++i) add("<data key=\"e{}\">{}</data>", i + 1, numbers[i]);
    out += "</edge>\n";
  }
  return out + "  </graph>\n</graphml>\n";
}

}  // namespace headscope
