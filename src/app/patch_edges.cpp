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

PatchEdge find_edge(const NamedEdge& names, const HeadSizes& sizes) {
  const auto fail = [](const char* expected, const std::string& found) {
    throw Error(ErrorKind::kInvalidArgument, fmt::format("expected {}, found '{}'", expected, printable(found, 40)));
  };
  const auto pair = parse_role_pair(names.pair);
  const auto source = parse_head(names.source);
  const auto target = parse_head(names.target);
  if (!pair || pair->source != Role::kO || pair->target == Role::kO) fail("pair OQ, OK or OV", names.pair);
  if (!source || !target) fail("the name of a head such as L4H7 or L4KV1", source ? names.target : names.source);
  const PatchEdge edge{*source, pair->target, *target};
  check_edge(edge, sizes);
  return edge;
}

void add(const PatchEdge& edge, std::vector<PatchEdge>& edges) {
  if (std::ranges::find(edges, edge) == edges.end()) edges.push_back(edge);
}

}  // namespace

std::vector<PatchEdge> read_edges(const std::filesystem::path& path, const HeadSizes& sizes) {
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
  std::vector<PatchEdge> edges;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto cell = [&](std::size_t c) { return std::string(rows.cell(i, columns[c])); };
    try {
      add(find_edge({cell(0), cell(1), cell(2)}, sizes), edges);
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, fmt::format("{} line {}: {}", path.string(), i + 2, error.what()));
    }
  }
  if (edges.empty()) malformed("has no edges");
  return edges;
}

std::vector<PatchEdge> find_edges(std::span<const NamedEdge> names, const HeadSizes& sizes) {
  std::vector<PatchEdge> edges;
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      add(find_edge(names[i], sizes), edges);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--edges: edge {}: {}", i, error.what()));
    }
  }
  return edges;
}

}  // namespace headscope::app
