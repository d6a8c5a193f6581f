#include "headscope/run/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/io/csv.h"
#include "headscope/run/schema/capture.h"
#include "headscope/run/schema/compare.h"
#include "headscope/run/schema/components.h"
#include "headscope/run/schema/detect.h"
#include "headscope/run/schema/organize.h"
#include "headscope/run/schema/patch.h"
#include "headscope/run/schema/prune.h"
#include "headscope/run/schema/relate.h"
#include "headscope/run/schema/softmax.h"

namespace headscope {
namespace {

using namespace run_files;

constexpr std::array kSchema = std::to_array<const FileSchema*>({&kHeads,
                                                                 &kAffinity,
                                                                 &kEdges,
                                                                 &kWiring,
                                                                 &kGraphMl,
                                                                 &kGexf,
                                                                 &kDot,
                                                                 &kMibGraph,
                                                                 &kHubs,
                                                                 &kComponents,
                                                                 &kComponentOverlap,
                                                                 &kComponentPk,
                                                                 &kComponentEdges,
                                                                 &kComponentWiring,
                                                                 &kComponentHubs,
                                                                 &kNeurons,
                                                                 &kNeuronTokens,
                                                                 &kCommunities,
                                                                 &kInformativeness,
                                                                 &kSensitivity,
                                                                 &kLabels,
                                                                 &kTokenProfiles,
                                                                 &kPattern,
                                                                 &kScores,
                                                                 &kSinks,
                                                                 &kOutput,
                                                                 &kTokens,
                                                                 &kThumbnail,
                                                                 &kAttention,
                                                                 &kEffect,
                                                                 &kDetectors,
                                                                 &kDetectorLengths,
                                                                 &kDetectedLabels,
                                                                 &kScreen,
                                                                 &kPatch,
                                                                 &kPatchAgreement,
                                                                 &kPatchComponents,
                                                                 &kPatchComponentAgreement,
                                                                 &kCircuitGraph,
                                                                 &kCircuit,
                                                                 &kConsensusTree,
                                                                 &kAxisTree,
                                                                 &kAxisAffinity,
                                                                 &kAxisEmbedding,
                                                                 &kAxisOrder,
                                                                 &kHaar,
                                                                 &kSparsity,
                                                                 &kOrganizedInputs,
                                                                 &kStability,
                                                                 &kDecay,
                                                                 &kConvergence,
                                                                 &kSpectrum,
                                                                 &kInvariance,
                                                                 &kInvarianceLevels,
                                                                 &kParaproduct,
                                                                 &kRanking,
                                                                 &kCurve,
                                                                 &kOrders,
                                                                 &kInvarianceInputs,
                                                                 &kPruning,
                                                                 &kPruned,
                                                                 &kPrunedCheckpoint,
                                                                 &kComparison,
                                                                 &kFeatures,
                                                                 &kDistances,
                                                                 &kCompared,
                                                                 &kComparedTree,
                                                                 &kComparedAffinity});

constexpr std::string_view kInputs = "inputs/";

// The name of the first placeholder; empty if there is none.
std::string_view placeholder(std::string_view pattern) {
  const std::size_t begin = pattern.find('<');
  if (begin == std::string_view::npos) return {};
  return pattern.substr(begin + 1, pattern.find('>', begin) - begin - 1);
}

// "inputs/3/pattern.npy" or "cross/inputs/3/pattern.npy" without its folders.
std::string_view without_input_folder(std::string_view path) {
  for (const std::string_view block : kBlockNames) {
    if (path.starts_with(block) && path.substr(block.size()).starts_with('/')) path.remove_prefix(block.size() + 1);
  }
  if (!path.starts_with(kInputs)) return path;
  const std::size_t slash = path.find('/', kInputs.size());
  const std::string_view number = path.substr(kInputs.size(), slash - kInputs.size());
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  return slash == std::string_view::npos || !is_number ? path : path.substr(slash + 1);
}

// The number that fills the whole cell.
template <typename T>
std::optional<T> number_in(std::string_view cell) {
  T value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// Nothing if the text does not fit the type.
std::optional<Cell> typed_cell(ColumnType type, std::string_view text) {
  switch (type) {
    case ColumnType::kText:
      return Cell(std::string(without_guard(text)));
    case ColumnType::kOptionalInteger:
      if (text.empty()) return Cell(std::optional<std::int64_t>());
      [[fallthrough]];
    case ColumnType::kInteger: {
      const auto number = number_in<std::int64_t>(text);
      return number ? std::optional(Cell(*number)) : std::nullopt;
    }
    case ColumnType::kFloat: {
      if (text.empty()) return Cell(std::optional<double>());
      const auto number = number_in<float>(text);
      return number ? std::optional(Cell(*number)) : std::nullopt;
    }
    case ColumnType::kDouble: {
      if (text.empty()) return Cell(std::optional<double>());
      const auto number = number_in<double>(text);
      return number ? std::optional(Cell(*number)) : std::nullopt;
    }
    case ColumnType::kFlag:
      if (text != "yes" && text != "no") return std::nullopt;
      return Cell(text == "yes");
  }
  return std::nullopt;
}

}  // namespace

std::string fill(std::string_view pattern, const Placeholders& values) {
  std::string text;
  while (!pattern.empty()) {
    const std::size_t begin = std::min(pattern.find('<'), pattern.size());
    text += pattern.substr(0, begin);
    pattern.remove_prefix(begin);
    if (pattern.empty()) break;
    const std::string_view name = placeholder(pattern);
    const auto found = std::ranges::find(values, name, &Placeholders::value_type::first);
    if (found == values.end()) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("run schema: no value for <{}>", name));
    }
    text += found->second;
    pattern.remove_prefix(name.size() + 2);
  }
  return text;
}

std::optional<Placeholders> match(std::string_view pattern, std::string_view text) {
  Placeholders values;
  while (true) {
    const std::size_t begin = std::min(pattern.find('<'), pattern.size());
    if (!text.starts_with(pattern.substr(0, begin))) return std::nullopt;
    text.remove_prefix(begin);
    pattern.remove_prefix(begin);
    if (pattern.empty()) return text.empty() ? std::optional(values) : std::nullopt;
    const std::string_view name = placeholder(pattern);
    pattern.remove_prefix(name.size() + 2);
    // The value ends at the last place where the text between this placeholder and the next one occurs.
    const std::string_view next = pattern.substr(0, std::min(pattern.find('<'), pattern.size()));
    const std::size_t end = next.empty() ? text.size() : text.rfind(next);
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    values.emplace_back(name, text.substr(0, end));
    if (values.back().second.find('/') != std::string::npos) return std::nullopt;
    text.remove_prefix(end);
  }
}

std::string input_folder(std::size_t input) {
  return input == 0 ? "" : fmt::format("{}{}/", kInputs, input);
}

std::string block_folder(std::string_view block) {
  return block.empty() ? "" : fmt::format("{}/", block);
}

Table make_table(const FileSchema& file,
                 const std::vector<std::pair<std::string_view, std::vector<std::string>>>& repeated) {
  std::vector<ColumnSpec> columns;
  for (std::size_t i = 0; i < file.columns.size();) {
    std::size_t end = i + 1;
    while (end < file.columns.size() && file.columns[end].joint) ++end;
    const std::string_view name = placeholder(file.columns[i].name);
    std::vector<std::string> values = {""};
    if (!name.empty()) {
      const auto found = std::ranges::find(repeated, name, [](const auto& entry) { return entry.first; });
      if (found == repeated.end()) {
        throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: no values for <{}>", file.path, name));
      }
      values = found->second;
    }
    for (const std::string& value : values) {
      for (std::size_t k = i; k < end; ++k) {
        columns.push_back({fill(file.columns[k].name, {{name, value}}), file.columns[k].type});
      }
    }
    i = end;
  }
  return Table(std::move(columns));
}

const ColumnSchema* find_column(const FileSchema& file, std::string_view name) noexcept {
  // Exact names come first: gain_shuffled is not <figure>_shuffled.
  for (const ColumnSchema& column : file.columns) {
    if (column.name == name || (!column.former_name.empty() && column.former_name == name)) return &column;
  }
  for (const ColumnSchema& column : file.columns) {
    if (match(column.name, name)) return &column;
  }
  return nullptr;
}

std::vector<ColumnSpec> column_types(const FileSchema& file, std::span<const std::string> names) {
  std::vector<ColumnSpec> columns;
  for (const std::string& name : names) {
    const ColumnSchema* found = find_column(file, name);
    columns.push_back({name, found == nullptr ? ColumnType::kText : found->type});
    if (found == nullptr || found->former_name != name) continue;
    // A table with both names keeps them, so that its columns stay unique.
    if (std::ranges::find(names, found->name) == names.end()) columns.back().name = found->name;
  }
  return columns;
}

Table typed_table(const CsvRows& rows, const FileSchema& file, const std::string& where) {
  Table table(column_types(file, rows.columns));
  std::vector<Cell> cells;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    cells.clear();
    for (std::size_t i = 0; i < rows.columns.size(); ++i) {
      const ColumnSpec& column = table.columns()[i];
      auto cell = typed_cell(column.type, rows.cell(row, i));
      if (!cell) {
        throw Error(ErrorKind::kFormat,
                    fmt::format("{}: '{}' in column '{}', row {}: expected {}", where, printable(rows.cell(row, i), 60),
                                printable(column.name), row + 1, to_string(column.type)));
      }
      cells.push_back(std::move(*cell));
    }
    table.add_row(cells);
  }
  return table;
}

std::span<const FileSchema* const> run_schema() noexcept {
  return kSchema;
}

const FileSchema* find_schema(std::string_view path) noexcept {
  for (const FileSchema* file : kSchema) {
    if (match(file->path, file->per_input ? without_input_folder(path) : path)) return file;
  }
  return nullptr;
}

}  // namespace headscope
