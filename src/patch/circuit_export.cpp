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
                                                 {"e5", "edge", "weight", "double"},
                                                 {"e6", "edge", "overlap", "double"}});

std::string pair_of(ComponentKind target) {
  return target == ComponentKind::kMlp ? "OM" : "OU";
}

std::optional<double> unless_undefined(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

// Adds what belongs to the circuit of edges of one sort.
template <typename Edges, typename Convert>
void add_circuit(const Edges& edges, const Convert& convert, std::vector<CircuitEdge>& circuit) {
  const bool has_controls =
      std::ranges::any_of(edges, [](const auto& edge) { return edge.kind == EdgeKind::kControl; });
  for (const auto& edge : edges) {
    const bool is_in =
        has_controls ? edge.in_circuit && edge.kind != EdgeKind::kControl : edge.kind == EdgeKind::kGiven;
    if (is_in) circuit.push_back(convert(edge));
  }
}

}  // namespace

std::vector<CircuitEdge> circuit_of(std::span<const MeasuredEdge> edges, std::span<const MeasuredCut> cuts) {
  std::vector<CircuitEdge> circuit;
  const auto of_heads = [](const MeasuredEdge& one) {
    return CircuitEdge{.pair = to_string(RolePair{Role::kO, one.edge.role}),
                       .source = one.edge.source,
                       .target = one.edge.target,
                       .kind = one.kind,
                       .pk = one.pk,
                       .z = one.z,
                       .local = one.local,
                       .effect = one.effect.value_or(0)};
  };
  const auto to_component = [](const MeasuredCut& one) {
    return CircuitEdge{.pair = pair_of(one.cut.target.kind),
                       .source = one.cut.source,
                       .target = one.cut.target,
                       .kind = one.kind,
                       .overlap = unless_undefined(one.overlap),
                       .z = unless_undefined(one.z),
                       .effect = one.effect.value_or(0)};
  };
  add_circuit(edges, of_heads, circuit);
  add_circuit(cuts, to_component, circuit);
  return circuit;
}

std::string circuit_graphml(std::span<const CircuitEdge> circuit) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  const auto add = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
  };
  for (const Key& key : kKeys) {
    add("  <key id=\"{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n", key.id, key.of, key.name, key.type);
  }
  out += "  <graph edgedefault=\"directed\">\n";
  std::set<ComponentId> nodes;
  for (const CircuitEdge& one : circuit) nodes.insert({one.source, one.target});
  for (const ComponentId& id : nodes) {
    add("    <node id=\"{}\">", to_string(id));
    if (id.is_in_layer()) add("<data key=\"n0\">{}</data>", id.layer);
    if (id.is_head()) add("<data key=\"n1\">{}</data>", id.head);
    add("<data key=\"n2\">{}</data></node>\n", to_string(id.kind));
  }
  for (const CircuitEdge& one : circuit) {
    add("    <edge source=\"{}\" target=\"{}\">", to_string(one.source), to_string(one.target));
    add("<data key=\"e0\">{}</data>", one.pair);
    const std::array<std::optional<double>, 6> numbers = {
        one.pk, one.z, one.local, one.effect, std::abs(one.effect), one.overlap};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i]) add("<data key=\"e{}\">{}</data>", i + 1, *numbers[i]);
    }
    out += "</edge>\n";
  }
  return out + "  </graph>\n</graphml>\n";
}

}  // namespace headscope
