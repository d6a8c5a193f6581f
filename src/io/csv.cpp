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

// Whether the text is a formula behind any number of apostrophes.
bool looks_like_formula(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos && std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string guard_formula(std::string text) {
  if (looks_like_formula(text)) text.insert(text.begin(), '\'');
  return text;
}

std::string_view without_guard(std::string_view text) noexcept {
  return text.starts_with('\'') && looks_like_formula(text) ? text.substr(1) : text;
}

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
