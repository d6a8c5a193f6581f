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

}  // namespace headscope
