#include "app/patch_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/csv_reader.h"
#include "headscope/io/mapped_file.h"

namespace headscope::app {

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
    const auto cell = [&](std::size_t c) { return rows.cell(i, columns[c]); };
    const std::string line = fmt::format("{} line {}", path.string(), i + 2);
    const auto pair = parse_role_pair(cell(0));
    const auto source = parse_head(cell(1));
    const auto target = parse_head(cell(2));
    if (!pair || pair->source != Role::kO || pair->target == Role::kO) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: expected pair OQ, OK or OV, found '{}'", line, printable(cell(0), 40)));
    }
    if (!source || !target) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: expected the name of a head such as L4H7 or L4KV1, found '{}'",
                                                  line, printable(cell(source ? 2 : 1), 40)));
    }
    const PatchEdge edge{*source, pair->target, *target};
    try {
      check_edge(edge, sizes);
    } catch (const Error& error) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: {}", line, error.what()));
    }
    if (std::ranges::find(edges, edge) == edges.end()) edges.push_back(edge);
  }
  if (edges.empty()) malformed("has no edges");
  return edges;
}

}  // namespace headscope::app
