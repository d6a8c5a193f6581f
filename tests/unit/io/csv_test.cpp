#include "headscope/io/csv.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"

namespace headscope {
namespace {

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  CsvTable table({"a", "b"});
  table.add_row(std::vector<std::string>{"plain", "with, comma"});
  table.add_row(std::vector<std::string>{"a \"word\"", "two\nlines"});
  EXPECT_EQ(table.text(), "a,b\nplain,\"with, comma\"\n\"a \"\"word\"\"\",\"two\nlines\"\n");
  EXPECT_EQ(table.rows(), 2u);
}

TEST(Csv, RefusesARowOfAnotherLength) {
  CsvTable table({"a", "b"});
  EXPECT_ERROR(table.add_row(std::vector<std::string>{"x"}), ErrorKind::kInvalidArgument, "1 cells, expected 2");
}

TEST(Csv, TextsThatLookLikeFormulasAreGuardedAndReadBack) {
  EXPECT_EQ(guard_formula("=cmd()"), "'=cmd()");
  EXPECT_EQ(guard_formula("'-1"), "''-1");
  for (const char* text : {"=cmd()", "+", "-", "@x", "'=", "''+", "'quoted'", "", "'", "plain", "\t", "a=b"}) {
    EXPECT_EQ(without_guard(guard_formula(text)), text);
  }
  EXPECT_EQ(guard_formula("'quoted'"), "'quoted'");
}

TEST(Csv, WritesNumbersThatReadBack) {
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(0.1F), "0.1");
  EXPECT_EQ(csv_number(1e-300), "1e-300");
  EXPECT_EQ(csv_number(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(csv_number(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace headscope
