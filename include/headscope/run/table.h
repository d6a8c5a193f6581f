#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headscope {

/// Type of a column of a table, and how its cells are written in CSV.
enum class ColumnType {
  kText,
  kInteger,          ///< Every cell is an integer.
  kOptionalInteger,  ///< An integer, or empty.
  kFloat,            ///< Single precision: the shortest digits that read back as the same float. NaN is empty.
  kDouble,           ///< Double precision, likewise.
  kFlag,             ///< "yes" or "no".
};
[[nodiscard]] std::string_view to_string(ColumnType type) noexcept;

/// Name and type of a column.
struct ColumnSpec {
  std::string name;
  ColumnType type = ColumnType::kText;
};

/// The cells of a column: texts; integers; numbers (kFloat, kDouble, kOptionalInteger; NaN is empty); flags (0 or 1).
using ColumnValues =
    std::variant<std::vector<std::string>, std::vector<std::int64_t>, std::vector<double>, std::vector<std::uint8_t>>;

/// One value of a row.
class Cell {
 public:
  Cell(std::string text) : value_(std::move(text)) {}                // NOLINT(google-explicit-constructor)
  Cell(std::string_view text) : value_(std::string(text)) {}         // NOLINT(google-explicit-constructor)
  Cell(const char* text) : value_(std::string(text)) {}              // NOLINT(google-explicit-constructor)
  Cell(std::same_as<bool> auto flag) : value_(flag) {}               // NOLINT(google-explicit-constructor)
  Cell(std::floating_point auto number) : value_(double{number}) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Cell(Integer number)
      : value_(static_cast<std::int64_t>(number)) {}  // NOLINT(google-explicit-constructor)
  /// Without a value the cell is empty.
  template <typename T>
  Cell(const std::optional<T>& value) {  // NOLINT(google-explicit-constructor)
    if (value) *this = Cell(*value);
  }

 private:
  friend class Table;
  std::variant<std::monostate, std::string, std::int64_t, double, bool> value_;
};

/// A table with typed columns. It is built row by row and read by column.
class Table {
 public:
  Table() = default;
  /// \throws Error  kInvalidArgument if a name is duplicated.
  explicit Table(std::vector<ColumnSpec> columns);

  /// \throws Error  kInvalidArgument if the number of cells or the type of a cell does not fit the columns; the table
  /// is
  ///                then unchanged.
  void add_row(std::span<const Cell> cells);
  void add_row(std::initializer_list<Cell> cells) { add_row(std::span(cells.begin(), cells.size())); }

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::span<const ColumnSpec> columns() const noexcept { return columns_; }
  [[nodiscard]] const ColumnValues& values(std::size_t column) const { return values_[column]; }
  /// Returns the index of a column, or nothing if there is none with this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept;

  /// RFC 4180; lines end in LF; the first line contains the names.
  [[nodiscard]] std::string csv() const;

 private:
  [[nodiscard]] static bool fits(ColumnType type, const Cell& cell) noexcept;

  std::vector<ColumnSpec> columns_;
  std::vector<ColumnValues> values_;
  std::size_t rows_ = 0;
};

}  // namespace headscope
