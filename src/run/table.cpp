#include "headscope/run/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headscope/base/error.h"
#include "headscope/io/csv.h"

namespace headscope {
namespace {

ColumnValues no_values(ColumnType type) {
  switch (type) {
    case ColumnType::kText:
      return std::vector<std::string>();
    case ColumnType::kInteger:
      return std::vector<std::int64_t>();
    case ColumnType::kOptionalInteger:
    case ColumnType::kFloat:
    case ColumnType::kDouble:
      return std::vector<double>();
    case ColumnType::kFlag:
      return std::vector<std::uint8_t>();
  }
  return {};
}

std::string cell_text(ColumnType type, const ColumnValues& values, std::size_t row) {
  switch (type) {
    case ColumnType::kText:
      return guard_formula(std::get<std::vector<std::string>>(values)[row]);
    case ColumnType::kInteger:
      return std::to_string(std::get<std::vector<std::int64_t>>(values)[row]);
    case ColumnType::kOptionalInteger: {
      const double value = std::get<std::vector<double>>(values)[row];
      return std::isnan(value) ? std::string() : std::to_string(static_cast<std::int64_t>(value));
    }
    case ColumnType::kFloat:
      return csv_number(static_cast<float>(std::get<std::vector<double>>(values)[row]));
    case ColumnType::kDouble:
      return csv_number(std::get<std::vector<double>>(values)[row]);
    case ColumnType::kFlag:
      return std::get<std::vector<std::uint8_t>>(values)[row] != 0 ? "yes" : "no";
  }
  return {};
}

}  // namespace

std::string_view to_string(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::kText:
      return "text";
    case ColumnType::kInteger:
      return "integer";
    case ColumnType::kOptionalInteger:
      return "integer or empty";
    case ColumnType::kFloat:
      return "float32";
    case ColumnType::kDouble:
      return "float64";
    case ColumnType::kFlag:
      return "yes or no";
  }
  return "";
}

Table::Table(std::vector<ColumnSpec> columns) : columns_(std::move(columns)) {
  for (const ColumnSpec& column : columns_) {
    if (std::ranges::count(columns_, column.name, &ColumnSpec::name) > 1) {
      throw Error(ErrorKind::kInvalidArgument, fmt::format("Table: duplicate column '{}'", column.name));
    }
    values_.push_back(no_values(column.type));
  }
}

bool Table::fits(ColumnType type, const Cell& cell) noexcept {
  const auto& value = cell.value_;
  const bool empty = std::holds_alternative<std::monostate>(value);
  switch (type) {
    case ColumnType::kText:
      return empty || std::holds_alternative<std::string>(value);
    case ColumnType::kInteger:
      return std::holds_alternative<std::int64_t>(value);
    case ColumnType::kOptionalInteger:
      return empty || std::holds_alternative<std::int64_t>(value);
    case ColumnType::kFloat:
    case ColumnType::kDouble:
      return empty || std::holds_alternative<double>(value);
    case ColumnType::kFlag:
      return std::holds_alternative<bool>(value);
  }
  return false;
}

void Table::add_row(std::span<const Cell> cells) {
  if (cells.size() != columns_.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("Table: a row has {} cells, expected {}", cells.size(), columns_.size()));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (fits(columns_[i].type, cells[i])) continue;
    throw Error(ErrorKind::kInvalidArgument, fmt::format("Table: wrong type for column '{}', expected {}",
                                                         columns_[i].name, to_string(columns_[i].type)));
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& value = cells[i].value_;
    if (auto* texts = std::get_if<std::vector<std::string>>(&values_[i])) {
      const auto* text = std::get_if<std::string>(&value);
      texts->push_back(text != nullptr ? *text : std::string());
    } else if (auto* integers = std::get_if<std::vector<std::int64_t>>(&values_[i])) {
      integers->push_back(std::get<std::int64_t>(value));
    } else if (auto* flags = std::get_if<std::vector<std::uint8_t>>(&values_[i])) {
      flags->push_back(std::get<bool>(value) ? 1 : 0);
    } else {
      const auto* number = std::get_if<double>(&value);
      const auto* integer = std::get_if<std::int64_t>(&value);
      std::get<std::vector<double>>(values_[i])
          .push_back(number != nullptr    ? *number
                     : integer != nullptr ? static_cast<double>(*integer)
                                          : std::numeric_limits<double>::quiet_NaN());
    }
  }
  ++rows_;
}

std::optional<std::size_t> Table::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(columns_, name, &ColumnSpec::name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::string Table::csv() const {
  std::vector<std::string> cells;
  for (const ColumnSpec& column : columns_) cells.push_back(column.name);
  CsvTable text(cells);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t i = 0; i < columns_.size(); ++i) cells[i] = cell_text(columns_[i].type, values_[i], row);
    text.add_row(cells);
  }
  return text.text();
}

}  // namespace headscope
