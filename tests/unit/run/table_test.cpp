#include "headscope/run/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

Table all_types() {
  return Table({{"text", ColumnType::kText},
                {"integer", ColumnType::kInteger},
                {"optional", ColumnType::kOptionalInteger},
                {"float", ColumnType::kFloat},
                {"double", ColumnType::kDouble},
                {"flag", ColumnType::kFlag}});
}

TEST(Table, WritesEveryTypeAsCsv) {
  Table table = all_types();
  table.add_row({"a,b", 3, std::optional<std::size_t>(7), 0.1F, 0.1, true});
  table.add_row({std::string("c"), -4, std::optional<std::size_t>(), std::nan(""), std::nan(""), false});
  EXPECT_EQ(table.csv(),
            "text,integer,optional,float,double,flag\n"
            "\"a,b\",3,7,0.1,0.1,yes\n"
            "c,-4,,,,no\n");
}

TEST(Table, IsReadByColumn) {
  Table table = all_types();
  table.add_row({"a", 3, std::optional<int>(), 0.5F, std::optional<double>(), true});
  EXPECT_EQ(table.rows(), 1u);
  EXPECT_EQ(std::get<std::vector<std::string>>(table.values(0)), (std::vector<std::string>{"a"}));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(table.values(1)), (std::vector<std::int64_t>{3}));
  EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(table.values(2))[0]));
  EXPECT_EQ(std::get<std::vector<double>>(table.values(3))[0], 0.5);
  EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(table.values(4))[0]));
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(table.values(5))[0], 1);
  EXPECT_EQ(table.find("float"), 3u);
  EXPECT_EQ(table.find("other"), std::nullopt);
}

TEST(Table, KeepsAllDigits) {
  Table table({{"float", ColumnType::kFloat}, {"double", ColumnType::kDouble}});
  table.add_row({1.0F / 3, 1.0 / 3});
  EXPECT_EQ(table.csv(), "float,double\n0.33333334,0.3333333333333333\n");
}

TEST(Table, RejectsWhatDoesNotFitItsColumns) {
  const auto kind = ErrorKind::kInvalidArgument;
  EXPECT_ERROR(Table({{"a", ColumnType::kText}, {"a", ColumnType::kFlag}}), kind, "duplicate column 'a'");
  Table table({{"a", ColumnType::kInteger}, {"b", ColumnType::kText}});
  EXPECT_ERROR(table.add_row({1}), kind, "a row has 1 cells, expected 2");
  EXPECT_ERROR(table.add_row({"x", "y"}), kind, "wrong type for column 'a', expected integer");
  EXPECT_ERROR(table.add_row({std::optional<int>(), "y"}), kind, "wrong type for column 'a'");
  EXPECT_ERROR(table.add_row({1, true}), kind, "wrong type for column 'b', expected text");
}

// A row that is rejected leaves no cells behind.
TEST(Table, IsUnchangedByARowThatIsRejected) {
  Table table({{"a", ColumnType::kInteger}, {"b", ColumnType::kText}});
  EXPECT_ERROR(table.add_row({1, 2}), ErrorKind::kInvalidArgument, "column 'b'");
  table.add_row({3, "x"});
  EXPECT_EQ(table.csv(), "a,b\n3,x\n");
}

}  // namespace
}  // namespace headscope
