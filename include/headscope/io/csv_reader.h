#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// A CSV table as text; the first line contains the column names.
struct CsvRows {
  std::vector<std::string> columns;
  std::vector<std::string> cells;  ///< Row-major, columns.size() cells per row.

  [[nodiscard]] std::size_t rows() const noexcept { return columns.empty() ? 0 : cells.size() / columns.size(); }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
  /// Returns the index of a column, or nothing if there is none with this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept;
};

/// Parses RFC 4180: cells separated by commas, quoted if they contain commas, quotes (doubled) or line ends. Lines end
/// in LF or CRLF; the last one may have no line end. Cells are bytes in any encoding. Uses at most about 40 times the
/// memory of the text, reached by a table of empty cells.
///
/// `where` is the prefix of every error message.
/// \throws Error  kFormat if there is no header, a column name is duplicated, the number of cells of a row differs from
///                the header's, a quote is not closed or is closed within a cell, or a carriage return outside quotes
///                does not end a line.
[[nodiscard]] CsvRows parse_csv(std::string_view text, std::string_view where);

}  // namespace headscope
