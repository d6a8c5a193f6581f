#include "headscope/relate/graph_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "headscope/base/error.h"

namespace headscope {
namespace {

enum class Type { kInteger, kDouble, kString, kBoolean };

struct Attribute {
  std::string_view name;
  Type type;
};

constexpr std::array kNodeAttributes = {
    Attribute{"layer", Type::kInteger},       Attribute{"head", Type::kInteger},
    Attribute{"kind", Type::kString},         Attribute{"in_degree", Type::kInteger},
    Attribute{"out_degree", Type::kInteger},  Attribute{"in_strength", Type::kDouble},
    Attribute{"out_strength", Type::kDouble}, Attribute{"pagerank", Type::kDouble},
    Attribute{"hub", Type::kDouble},          Attribute{"authority", Type::kDouble},
    Attribute{"betweenness", Type::kDouble},  Attribute{"classes", Type::kString},
    Attribute{"block", Type::kString},
};
// The weight comes last, because GEXF has its own attribute for it.
constexpr std::array kEdgeAttributes = {
    Attribute{"pair", Type::kString},        Attribute{"score", Type::kDouble},
    Attribute{"z", Type::kDouble},           Attribute{"beyond_chance", Type::kBoolean},
    Attribute{"stands_out", Type::kBoolean}, Attribute{"weight", Type::kDouble},
};
constexpr std::size_t kWeight = kEdgeAttributes.size() - 1;

// One string per attribute, not yet escaped; empty means absent.
using NodeValues = std::array<std::string, kNodeAttributes.size()>;
using EdgeValues = std::array<std::string, kEdgeAttributes.size()>;

std::string class_names(const GraphToExport& what, const ComponentId& id) {
  if (what.labels == nullptr || !id.is_head()) return "";
  const std::vector<std::string> names = what.labels->classes_of(id.head_id());
  return fmt::format("{}", fmt::join(names, ";"));
}

NodeValues node_values(const GraphToExport& what, std::size_t node) {
  const ComponentId id = what.graph.nodes()[node];
  const NodeMeasures& m = what.measures.nodes[node];
  const std::string layer = id.is_in_layer() ? fmt::to_string(id.layer) : "";
  const std::string head = id.is_head() ? fmt::to_string(id.head) : "";
  return {layer,
          head,
          std::string(to_string(id.kind)),
          fmt::to_string(m.in_degree),
          fmt::to_string(m.out_degree),
          fmt::to_string(m.in_strength),
          fmt::to_string(m.out_strength),
          fmt::to_string(m.pagerank),
          fmt::to_string(m.hub),
          fmt::to_string(m.authority),
          fmt::to_string(m.betweenness),
          class_names(what, id),
          std::string(to_string(id.block))};
}

EdgeValues edge_values(const HeadEdge& edge) {
  return {edge.pair,
          fmt::to_string(edge.score),
          fmt::to_string(edge.z),
          edge.beyond_chance ? "true" : "false",
          edge.stands_out ? "true" : "false",
          fmt::to_string(edge.weight)};
}

// The last one is only for models with several blocks.
std::span<const Attribute> node_attributes(const GraphToExport& what) {
  const auto has_block = [](const ComponentId& id) { return id.block != Block::kOnly; };
  return std::span(kNodeAttributes)
      .first(kNodeAttributes.size() - (std::ranges::any_of(what.graph.nodes(), has_block) ? 0 : 1));
}

// Escapes for text and for double-quoted attributes.
std::string xml(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // XML 1.0 does not allow most control characters, U+FFFE and U+FFFF, not even as character references.
    const bool noncharacter = text.substr(i, 3) == "\xEF\xBF\xBE" || text.substr(i, 3) == "\xEF\xBF\xBF";
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
    if (noncharacter || control) {
      out += "\xEF\xBF\xBD";  // U+FFFD, the replacement character
      if (noncharacter) i += 2;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("&#{};", static_cast<int>(c));  // parsers turn literal ones in attributes into spaces
    } else {
      out += c;
    }
  }
  return out;
}

// Includes the quotes. DOT allows numbers without quotes, but not with an exponent.
std::string dot(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out + '"';
}

void check(const GraphToExport& what) {
  if (what.measures.nodes.size() != what.graph.nodes().size()) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("graph export: the graph has {} nodes, the measures are of {}",
                                                         what.graph.nodes().size(), what.measures.nodes.size()));
  }
}

void declare_graphml_keys(std::string& out, std::string_view of, std::span<const Attribute> attributes) {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    constexpr std::array kTypes = {"int", "double", "string", "boolean"};
    fmt::format_to(std::back_inserter(out), "  <key id=\"{}{}\" for=\"{}\" attr.name=\"{}\" attr.type=\"{}\"/>\n",
                   of[0], i, of, attributes[i].name, kTypes[static_cast<std::size_t>(attributes[i].type)]);
  }
}

void add_graphml_data(std::string& out, char of, std::span<const std::string> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    fmt::format_to(std::back_inserter(out), "      <data key=\"{}{}\">{}</data>\n", of, i, xml(values[i]));
  }
}

void declare_gexf_attributes(std::string& out, std::string_view of, std::span<const Attribute> attributes) {
  fmt::format_to(std::back_inserter(out), "    <attributes class=\"{}\" mode=\"static\">\n", of);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    constexpr std::array kTypes = {"integer", "double", "string", "boolean"};
    fmt::format_to(std::back_inserter(out), "      <attribute id=\"{}\" title=\"{}\" type=\"{}\"/>\n", i,
                   attributes[i].name, kTypes[static_cast<std::size_t>(attributes[i].type)]);
  }
  out += "    </attributes>\n";
}

void add_gexf_values(std::string& out, std::span<const std::string> values) {
  out += "        <attvalues>\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    fmt::format_to(std::back_inserter(out), "          <attvalue for=\"{}\" value=\"{}\"/>\n", i, xml(values[i]));
  }
  out += "        </attvalues>\n";
}

// Returns name="value", ... for the nonempty values.
std::string dot_attributes(std::span<const Attribute> attributes, std::span<const std::string> values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    fmt::format_to(std::back_inserter(out), "{}{}={}", out.empty() ? "" : ", ", attributes[i].name, dot(values[i]));
  }
  return out;
}

}  // namespace

std::string to_graphml(const GraphToExport& what) {
  check(what);
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
  declare_graphml_keys(out, "node", node_attributes(what));
  declare_graphml_keys(out, "edge", kEdgeAttributes);
  out += "  <graph id=\"heads\" edgedefault=\"directed\">\n";
  const std::span<const ComponentId> nodes = what.graph.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "    <node id=\"{}\">\n", to_string(nodes[i]));
    add_graphml_data(out, 'n', node_values(what, i));
    out += "    </node>\n";
  }
  for (std::size_t i = 0; i < what.graph.edges().size(); ++i) {
    const HeadEdge& edge = what.graph.edges()[i];
    fmt::format_to(std::back_inserter(out), "    <edge id=\"{}\" source=\"{}\" target=\"{}\">\n", i,
                   to_string(nodes[edge.source]), to_string(nodes[edge.target]));
    add_graphml_data(out, 'e', edge_values(edge));
    out += "    </edge>\n";
  }
  return out + "  </graph>\n</graphml>\n";
}

std::string to_gexf(const GraphToExport& what) {
  check(what);
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<gexf xmlns=\"http://www.gexf.net/1.2draft\" version=\"1.2\">\n"
      "  <meta><creator>headscope</creator></meta>\n"
      "  <graph defaultedgetype=\"directed\" mode=\"static\">\n";
  declare_gexf_attributes(out, "node", node_attributes(what));
  declare_gexf_attributes(out, "edge", std::span(kEdgeAttributes).first(kWeight));
  out += "    <nodes>\n";
  const std::span<const ComponentId> nodes = what.graph.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "      <node id=\"{0}\" label=\"{0}\">\n", to_string(nodes[i]));
    add_gexf_values(out, node_values(what, i));
    out += "      </node>\n";
  }
  out += "    </nodes>\n    <edges>\n";
  for (std::size_t i = 0; i < what.graph.edges().size(); ++i) {
    const HeadEdge& edge = what.graph.edges()[i];
    const EdgeValues values = edge_values(edge);
    fmt::format_to(std::back_inserter(out),
                   "      <edge id=\"{}\" source=\"{}\" target=\"{}\" label=\"{}\" weight=\"{}\">\n", i,
                   to_string(nodes[edge.source]), to_string(nodes[edge.target]), xml(edge.pair), values[kWeight]);
    add_gexf_values(out, std::span(values).first(kWeight));
    out += "      </edge>\n";
  }
  return out + "    </edges>\n  </graph>\n</gexf>\n";
}

std::string to_dot(const GraphToExport& what) {
  check(what);
  std::string out = "digraph heads {\n  rankdir=LR;\n  node [shape=box];\n";
  const std::span<const ComponentId> nodes = what.graph.nodes();
  std::map<std::pair<Block, std::size_t>, std::string> layers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string id = dot(to_string(nodes[i]));
    fmt::format_to(std::back_inserter(out), "  {} [{}];\n", id, dot_attributes(kNodeAttributes, node_values(what, i)));
    layers[{nodes[i].block, nodes[i].depth()}] += " " + id + ";";
  }
  for (const auto& [layer, ids] : layers) out += "  { rank=same;" + ids + " }\n";
  for (const HeadEdge& edge : what.graph.edges()) {
    fmt::format_to(std::back_inserter(out), "  {} -> {} [label={}, {}{}];\n", dot(to_string(nodes[edge.source])),
                   dot(to_string(nodes[edge.target])), dot(edge.pair),
                   dot_attributes(kEdgeAttributes, edge_values(edge)),
                   edge.beyond_chance ? "" : ", style=dashed, color=gray, fontcolor=gray");
  }
  return out + "}\n";
}

}  // namespace headscope
