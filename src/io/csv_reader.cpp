#include "headscope/io/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headscope/base/error.h"

namespace headscope {
namespace {

class CsvParser {
 public:
  CsvParser(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  CsvRows parse() {
    CsvRows table;
    table.columns = row();
    check_columns(table.columns);
    while (position_ < text_.size()) {
      const std::size_t line = line_;
      std::vector<std::string> cells = row();
      if (cells.size() != table.columns.size()) {
        throw Error(ErrorKind::kFormat, fmt::format("{}: line {} has {} cells, expected {} as in the header", where_,
                                                    line, cells.size(), table.columns.size()));
      }
      std::ranges::move(cells, std::back_inserter(table.cells));
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

  // Reads the cells of one line, including its line end.
  std::vector<std::string> row() {
    std::vector<std::string> cells;
    do {
      cells.push_back(position_ < text_.size() && text_[position_] == '"' ? quoted() : plain());
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

  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", position_), text_.size());
    std::string cell(text_.substr(position_, end - position_));
    position_ = end;
    return cell;
  }

  std::string quoted() {
    std::string cell;
    const std::size_t line = line_;
    ++position_;
    for (;;) {
      const std::size_t end = text_.find('"', position_);
      if (end == std::string_view::npos) {
        throw Error(ErrorKind::kFormat, fmt::format("{}: line {}: a quote is not closed", where_, line));
      }
      const std::string_view piece = text_.substr(position_, end - position_);
      line_ += static_cast<std::size_t>(std::ranges::count(piece, '\n'));
      cell += piece;
      position_ = end + 1;
      if (!passed('"')) return cell;
      cell += '"';
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

CsvRows parse_csv(std::string_view text, std::string_view where) {
  return CsvParser(text, where).parse();
}

}  // namespace headscope
