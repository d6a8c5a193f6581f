#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// Builds a CSV table (RFC 4180, lines end in LF), quoting cells as needed.
class CsvTable {
 public:
  explicit CsvTable(std::vector<std::string> header);

  /// \throws Error  kInvalidArgument if the number of cells differs from the header's.
  void add_row(std::span<const std::string> cells);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::size_t columns_;
  std::size_t rows_ = 0;
  std::string text_;
};

/// Formats a number for a CSV cell: the shortest digits that read back as the same number; empty for NaN.
[[nodiscard]] std::string csv_number(double value);
[[nodiscard]] std::string csv_number(float value);

/// Protects a text from spreadsheets, which run a cell that begins with = + - @ or a control character as a formula:
/// puts an apostrophe before it, and before a text that looks like a protected one.
[[nodiscard]] std::string guard_formula(std::string text);
/// Takes the apostrophe away again.
[[nodiscard]] std::string_view without_guard(std::string_view text) noexcept;

}  // namespace headscope
