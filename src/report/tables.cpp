#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "headscope/base/error.h"
#include "report/page_data.h"

namespace headscope::report {
namespace {

struct KnownTable {
  std::string_view file;
  std::vector<std::string_view> columns;     // columns that the page requires
  std::vector<std::string_view> texts = {};  // columns with user-given names, kept as text: "1.0" and "1" differ
};

const std::vector<KnownTable>& known_tables() {
  static const std::vector<KnownTable> kTables = {
      {"heads.csv", {"head", "layer", "number", "kind", "classes"}},
      {"edges.csv", {"pair", "source", "target", "score", "rank"}},
      {"hubs.csv", {"rank", "head", "strength", "reason"}},
      {"informativeness.csv", {"pair", "kl", "observed_mean", "random_mean", "random_sd"}},
      {"labels.csv", {"metric", "pair", "pr_auc", "roc_auc"}},
      {"tokens.csv", {"head", "role", "rank", "token", "score"}},
      {"detectors.csv", {"head"}},
      {"sparsity.csv", {}},
      {"decay.csv", {"rank"}},
      {"invariance.csv", {}},
      {"ranking.csv", {"criterion", "seed", "rank", "head", "score", "removed"}},
      {"curve.csv", {"criterion", "seed", "removed", "loss", "accuracy", "kl", "agreement", "change"}},
      {"comparison.csv",
       {"a", "b", "feature", "mean_a", "mean_b", "difference", "spread", "p_holm", "verdict"},
       {"a", "b", "feature"}},
      {"features.csv", {"run", "input", "feature", "x", "value"}, {"run", "feature"}}};
  return kTables;
}

// Whether it is a table at the top level of the folder: "name.csv".
bool is_table(std::string_view name) {
  constexpr std::string_view kEnd = ".csv";
  if (!name.ends_with(kEnd) || name.size() == kEnd.size()) return false;
  name.remove_suffix(kEnd.size());
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

// Parses a finite number that fills the whole cell. Empty cells are gaps.
std::optional<double> number_in(std::string_view cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

Json column_values(const CsvRows& table, std::size_t column, bool text) {
  Json numbers = Json::array();
  bool numeric = false;
  for (std::size_t row = 0; row < table.rows() && !text; ++row) {
    const std::string& cell = table.cell(row, column);
    const auto number = number_in(cell);
    if (!number && !cell.empty()) {
      numeric = false;
      break;
    }
    numeric = numeric || number.has_value();
    numbers.push_back(number && std::isfinite(*number) ? Json(*number) : Json(nullptr));
  }
  if (numeric) return numbers;
  Json texts = Json::array();
  for (std::size_t row = 0; row < table.rows(); ++row) texts.push_back(table.cell(row, column));
  return texts;
}

void check_columns(const CsvRows& table, const KnownTable& known, const std::string& where) {
  for (const std::string_view column : known.columns) {
    if (table.find(column)) continue;
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: has no column '{}'; found {} columns", where, column, table.columns.size()));
  }
}

void check_heads(const CsvRows& table, const std::string& where) {
  const std::size_t column = *table.find("head");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (parse_head(table.cell(row, column))) continue;
    throw Error(ErrorKind::kFormat, fmt::format("{}: '{}' in row {} is not a head such as L4H7", where,
                                                printable(table.cell(row, column)), row + 1));
  }
}

}  // namespace

void add_tables(PageData& page) {
  Json tables = Json::object();
  for (const std::string& name : page.run.names()) {
    if (!is_table(name)) continue;
    const CsvRows table = page.run.table(name);
    const auto known = std::ranges::find(known_tables(), name, &KnownTable::file);
    if (known != known_tables().end()) check_columns(table, *known, page.run.where(name));
    if (name == "heads.csv" || name == "detectors.csv" || name == "ranking.csv")
      check_heads(table, page.run.where(name));
    Json columns = Json::array();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string& column = table.columns[i];
      const bool text = known != known_tables().end() && std::ranges::find(known->texts, column) != known->texts.end();
      columns.push_back({{"name", column}, {"values", column_values(table, i, text)}});
    }
    tables[name.substr(0, name.size() - 4)] = {{"rows", table.rows()}, {"columns", std::move(columns)}};
  }
  if (!tables.empty()) page.root["tables"] = std::move(tables);
}

}  // namespace headscope::report
