#include "headscope/io/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "headscope/base/error.h"

namespace headscope {
namespace {

class CsvParser {
 public:
  CsvParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  CsvRows parse() {
    if (text_.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorKind::kUnsupported,
                  fmt::format("{}: has {} MB, expected a table of less than 4 GB", where_, text_.size() >> 20));
    }
    CsvRows header;
    row(header);
    CsvRows table;
    for (std::size_t i = 0; i < header.size(); ++i) table.columns.emplace_back(cell_of(header, i));
    check_columns(table.columns);
    const std::string_view rest = text_.substr(position_);
    table.reserve(
        static_cast<std::size_t>(std::ranges::count_if(rest, [](char c) { return c == ',' || c == '\n'; })) + 1,
        rest.size());
    while (position_ < text_.size()) {
      const std::size_t line = line_;
      const std::size_t cells = row(table);
      if (cells != table.columns.size()) {
        throw Error(ErrorKind::kFormat, fmt::format("{}: line {} has {} cells, expected {} as in the header", where_,
                                                    line, cells, table.columns.size()));
      }
    }
    return table;
  }

 private:
  void check_columns(const std::vector<std::string>& columns) const {
    if (columns.size() == 1 && columns.front().empty()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: is empty, expected a line of column names", where_));
    }
    std::set<std::string_view> seen;
    for (const std::string& column : columns) {
      if (seen.insert(column).second) continue;
      throw Error(ErrorKind::kFormat, fmt::format("{}: duplicate column '{}'", where_, printable(column)));
    }
  }

  // The cells of a header, which has no columns yet.
  static std::string_view cell_of(CsvRows& header, std::size_t index) {
    if (header.columns.empty()) header.columns.resize(header.size());
    return header.cell(0, index);
  }

  // Reads the cells of one line, including its line end. Returns their number.
  std::size_t row(CsvRows& table) {
    std::size_t cells = 0;
    do {
      position_ < text_.size() && text_[position_] == '"' ? quoted(table) : plain(table);
      table.end_cell();
      ++cells;
    } while (passed(','));
    if (position_ < text_.size() && text_[position_] == '\r') ++position_;
    if (position_ < text_.size() && !passed('\n')) {
      throw Error(ErrorKind::kFormat,
                  fmt::format("{}: line {}: text after a closing quote or a lone carriage return", where_, line_));
    }
    ++line_;
    return cells;
  }

  bool passed(char expected) {
    if (position_ >= text_.size() || text_[position_] != expected) return false;
    ++position_;
    return true;
  }

  void plain(CsvRows& table) {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", position_), text_.size());
    table.extend(text_.substr(position_, end - position_));
    position_ = end;
  }

  void quoted(CsvRows& table) {
    const std::size_t line = line_;
    ++position_;
    for (;;) {
      const std::size_t end = text_.find('"', position_);
      if (end == std::string_view::npos) {
        throw Error(ErrorKind::kFormat, fmt::format("{}: line {}: a quote is not closed", where_, line));
      }
      const std::string_view piece = text_.substr(position_, end - position_);
      line_ += static_cast<std::size_t>(std::ranges::count(piece, '\n'));
      table.extend(piece);
      position_ = end + 1;
      if (!passed('"')) return;
      table.extend("\"");
    }
  }

  std::string_view text_;
  std::string where_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::optional<std::size_t> CsvRows::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

void CsvRows::reserve(std::size_t cells, std::size_t bytes) {
  ends_.reserve(cells);
  text_.reserve(bytes);
}

CsvRows parse_csv(std::string_view text, std::string_view where) {
  return CsvParser(text, where).parse();
}

}  // namespace headscope
