#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// A CSV table as text; the first line contains the column names. The cells are stored one after another in one text: a
/// table of many short cells takes little more memory than its file.
class CsvRows {
 public:
  std::vector<std::string> columns;

  [[nodiscard]] std::size_t rows() const noexcept { return columns.empty() ? 0 : ends_.size() / columns.size(); }
  /// Valid as long as the table is neither changed nor moved.
  [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const {
    const std::size_t index = row * columns.size() + column;
    const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(text_).substr(begin, ends_[index] - begin);
  }
  /// Returns the index of a column, or nothing if there is none with this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept;

  /// Number of cells, row by row, columns.size() per row.
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  /// Makes room for this many cells, of this many bytes together.
  void reserve(std::size_t cells, std::size_t bytes);
  /// Adds the next cell: the text of all `extend` since the last cell.
  void extend(std::string_view text) { text_ += text; }
  void end_cell() { ends_.push_back(static_cast<std::uint32_t>(text_.size())); }

 private:
  std::string text_;
  std::vector<std::uint32_t> ends_;  // in text_, by cell
};

/// Parses RFC 4180: cells separated by commas, quoted if they contain commas, quotes (doubled) or line ends. Lines end
/// in LF or CRLF; the last one may have no line end. Cells are bytes in any encoding. Uses at most about 5 times the
/// memory of the text, reached by a table of empty cells.
///
/// `where` is the prefix of every error message.
/// \throws Error  kFormat if there is no header, a column name is duplicated, the number of cells of a row differs from
///                the header's, a quote is not closed or is closed within a cell, or a carriage return outside quotes
///                does not end a line; kUnsupported if the text has 4 GB or more.
[[nodiscard]] CsvRows parse_csv(std::string_view text, std::string_view where);

}  // namespace headscope
