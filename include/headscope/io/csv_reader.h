#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// A CSV table as text: the first line names the columns.
struct CsvRows {
  std::vector<std::string> columns;
  std::vector<std::string> cells;  ///< Row by row, columns.size() each.

  [[nodiscard]] std::size_t rows() const noexcept { return columns.empty() ? 0 : cells.size() / columns.size(); }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const {
    return cells[row * columns.size() + column];
  }
  /// Where a column stands; nothing if there is none of this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept;
};

/// Reads RFC 4180: cells between commas, quoted where they hold commas, quotes (doubled) or line ends; lines end in \n
/// or \r\n, the last one perhaps in nothing. Cells are bytes, whatever their encoding. Memory within about 40 times
/// the text, which a table of empty cells needs.
///
/// `where` begins the message of every error.
/// \throws Error  kFormat if there is no header, a column is named twice, a row has another number of cells than the
///                header, or a quote is not closed or closed within a cell.
[[nodiscard]] CsvRows parse_csv(std::string_view text, std::string_view where);

}  // namespace headscope
