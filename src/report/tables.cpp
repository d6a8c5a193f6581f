#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "headscope/base/error.h"
#include "headscope/io/csv.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/detect.h"
#include "headscope/run/schema/prune.h"
#include "headscope/run/schema/relate.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

// Whether it is a table at the top level of the folder: "name.csv".
bool is_table(std::string_view name) {
  constexpr std::string_view kEnd = ".csv";
  if (!name.ends_with(kEnd) || name.size() == kEnd.size()) return false;
  name.remove_suffix(kEnd.size());
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

// Parses a finite number that fills the whole cell. Empty cells are gaps.
std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

std::string json_text(const Json& value) {
  // Text from files may contain any bytes; invalid UTF-8 is replaced rather than rejected.
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Whether all cells are numbers or empty, and at least one is a number.
bool is_numeric(const CsvRows& table, std::size_t column) {
  bool any = false;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string_view cell = table.cell(row, column);
    if (cell.empty()) continue;
    if (!number_in(cell)) return false;
    any = true;
  }
  return any;
}

// Adds an array of numbers if the column is numeric, otherwise of texts. A column of texts stays one: the names "1.0"
// and "1" differ.
void add_values(const CsvRows& table, std::size_t column, bool text, std::string& out) {
  const bool numeric = !text && is_numeric(table, column);
  out += '[';
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (row > 0) out += ',';
    const std::string_view cell = table.cell(row, column);
    if (!numeric) {
      out += json_text(without_guard(cell));
      continue;
    }
    const auto number = number_in(cell);
    out += number && std::isfinite(*number) ? json_text(*number) : "null";
  }
  out += ']';
}

// A table of the schema has all columns of its first version, except that those with a placeholder may be absent. The
// page says what is unknown without the later ones.
void check_columns(std::span<const ColumnSpec> columns, const FileSchema& schema, const std::string& where) {
  for (const ColumnSchema& column : schema.columns) {
    const bool may_be_absent = column.since > 1 || column.name.find('<') != std::string_view::npos;
    if (may_be_absent || std::ranges::find(columns, column.name, &ColumnSpec::name) != columns.end()) continue;
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: has no column '{}'; found {} columns", where, column.name, columns.size()));
  }
}

void check_heads(const CsvRows& table, const std::string& where) {
  const std::size_t column = *table.find("head");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (parse_head(table.cell(row, column))) continue;
    throw Error(ErrorKind::kFormat, fmt::format("{}: '{}' in row {} is not a head such as L4H7", where,
                                                printable(table.cell(row, column)), row + 1));
  }
}

}  // namespace

void add_tables(PageData& page) {
  std::string& out = page.tables;
  for (const std::string& name : page.run.names()) {
    if (!is_table(name)) continue;
    const CsvRows table = page.run.text_table(name);
    const FileSchema* found = find_schema(name);  // null for a table that no command writes
    const FileSchema schema = found == nullptr ? FileSchema{} : *found;
    const std::vector<ColumnSpec> specs = column_types(schema, table.columns);
    check_columns(specs, schema, page.run.where(name));
    if (found == &run_files::kHeads || found == &run_files::kDetectors || found == &run_files::kRanking)
      check_heads(table, page.run.where(name));
    out += fmt::format("{}{}:{{\"rows\":{},\"columns\":[", out.empty() ? "{" : ",",
                       json_text(name.substr(0, name.size() - 4)), table.rows());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const ColumnSchema* column = find_column(schema, table.columns[i]);
      const bool text = column != nullptr && column->type == ColumnType::kText;
      out += fmt::format("{}{{\"name\":{},\"values\":", i > 0 ? "," : "", json_text(specs[i].name));
      add_values(table, i, text, out);
      out += '}';
    }
    out += "]}";
  }
  if (out.empty()) return;
  out += '}';
  page.root["tables"] = nullptr;  // `assemble` puts the text here
}

}  // namespace headscope::report
