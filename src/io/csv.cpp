#include "headscope/io/csv.h"

#include <fmt/format.h>

#include <cmath>

#include "headscope/base/error.h"

namespace headscope {
namespace {

void append_cell(std::string& text, std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    text += cell;
    return;
  }
  text += '"';
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

void append_row(std::string& text, std::span<const std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += ',';
    append_cell(text, cells[i]);
  }
  text += '\n';
}

}  // namespace

CsvTable::CsvTable(std::vector<std::string> header) : columns_(header.size()) {
  append_row(text_, header);
}

void CsvTable::add_row(std::span<const std::string> cells) {
  if (cells.size() != columns_) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("CsvTable: a row has {} cells, expected {}", cells.size(), columns_));
  }
  append_row(text_, cells);
  ++rows_;
}

std::string csv_number(double value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

std::string csv_number(float value) {
  return std::isnan(value) ? "" : fmt::format("{}", value);
}

}  // namespace headscope
