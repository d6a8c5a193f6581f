#include "app/patch_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/csv_reader.h"
#include "headscope/io/mapped_file.h"

namespace headscope::app {
namespace {

[[noreturn]] void fail(const char* expected, const std::string& found) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("expected {}, found '{}'", expected, printable(found, 40)));
}

template <typename Edge>
void add_once(const Edge& edge, std::vector<Edge>& edges) {
  if (std::ranges::find(edges, edge) == edges.end()) edges.push_back(edge);
}

void add_component(const NamedEdge& names, const HeadSizes& sizes, GivenEdges& edges) {
  const auto source = parse_head(names.source);
  const auto target = parse_component(names.target);
  if (!source) fail("the name of a head such as L4H7", names.source);
  const ComponentKind kind = names.pair == "OM" ? ComponentKind::kMlp : ComponentKind::kUnembedding;
  if (!target || target->kind != kind) {
    fail(kind == ComponentKind::kMlp ? "the name of an MLP such as L4M" : "U, the unembedding", names.target);
  }
  const ComponentCut cut{*source, *target};
  check_cut(cut, sizes, /*parallel=*/false);  // `patch` knows whether they are
  add_once(cut, edges.components);
}

void add(const NamedEdge& names, const HeadSizes& sizes, GivenEdges& edges) {
  if (names.pair == "OM" || names.pair == "OU") {
    add_component(names, sizes, edges);
    return;
  }
  if (names.pair == "OR") {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("edges to {}, the rotary key that the heads of its layer share, are not cut: remove them, or "
                    "name OK edges, which end in the key of one head",
                    printable(names.target, 40)));
  }
  const auto pair = parse_role_pair(names.pair);
  const auto source = parse_head(names.source);
  const auto target = parse_head(names.target);
  if (!pair || pair->source != Role::kO || pair->target == Role::kO) fail("pair OQ, OK, OV, OM or OU", names.pair);
  if (!source || !target) fail("the name of a head such as L4H7 or L4KV1", source ? names.target : names.source);
  const PatchEdge edge{*source, pair->target, *target};
  check_edge(edge, sizes);
  add_once(edge, edges.heads);
}

}  // namespace

GivenEdges read_edges(const std::filesystem::path& path, const HeadSizes& sizes) {
  constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  const MappedFile file = MappedFile::open(path);
  const auto malformed = [&](const std::string& why) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: {}", path.string(), why));
  };
  if (file.bytes().size() > kMaxBytes)
    malformed(fmt::format("has {} bytes, expected at most {}", file.bytes().size(), kMaxBytes));
  const CsvRows rows = parse_csv(as_text(file.bytes()), path.string());
  std::array<std::size_t, 3> columns{};
  constexpr std::array<std::string_view, 3> kNames = {"pair", "source", "target"};
  for (std::size_t c = 0; c < kNames.size(); ++c) {
    const auto found = rows.find(kNames[c]);
    if (!found) malformed(fmt::format("has no column '{}', expected pair, source and target", kNames[c]));
    columns[c] = *found;
  }
  GivenEdges edges;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto cell = [&](std::size_t c) { return std::string(rows.cell(i, columns[c])); };
    try {
      add({cell(0), cell(1), cell(2)}, sizes, edges);
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, fmt::format("{} line {}: {}", path.string(), i + 2, error.what()));
    }
  }
  if (edges.empty()) malformed("has no edges");
  return edges;
}

GivenEdges find_edges(std::span<const NamedEdge> names, const HeadSizes& sizes) {
  GivenEdges edges;
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      add(names[i], sizes, edges);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--edges: edge {}: {}", i, error.what()));
    }
  }
  return edges;
}

}  // namespace headscope::app
