#include "headscope/io/csv_reader.h"

#include <gtest/gtest.h>

#include "headscope/io/csv.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

TEST(CsvReader, ReadsBackWhatCsvTableWrites) {
  const std::vector<std::string> header = {"a", "b,c", "d\"e"};
  const std::vector<std::string> row = {"", "x\ny,\r\n\"\"", "\xff\xf0\x9f\x98\x80"};
  CsvTable table(header);
  table.add_row(row);
  table.add_row(header);
  const CsvRows rows = parse_csv(table.text(), "t.csv");
  EXPECT_EQ(rows.columns, header);
  ASSERT_EQ(rows.rows(), 2u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows.cell(0, i), row[i]);
    EXPECT_EQ(rows.cell(1, i), header[i]);
  }
  EXPECT_EQ(rows.find("b,c"), 1u);
  EXPECT_EQ(rows.find("z"), std::nullopt);
}

TEST(CsvReader, TakesEveryLineEnd) {
  for (const char* text : {"a,b\r\n1,2\r\n", "a,b\n1,2"}) {
    const CsvRows rows = parse_csv(text, "t");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows.cell(0, 0), "1");
    EXPECT_EQ(rows.cell(0, 1), "2");
  }
  EXPECT_EQ(parse_csv("a,b", "t").rows(), 0u);
}

TEST(CsvReader, RefusesBrokenTables) {
  EXPECT_ERROR(parse_csv("", "t.csv"), ErrorKind::kFormat, "t.csv: is empty");
  EXPECT_ERROR(parse_csv("\n1\n", "t.csv"), ErrorKind::kFormat, "is empty");
  EXPECT_ERROR(parse_csv("a,a\n", "t.csv"), ErrorKind::kFormat, "duplicate column 'a'");
  EXPECT_ERROR(parse_csv("a,b\n1\n", "t.csv"), ErrorKind::kFormat, "line 2 has 1 cells, expected 2");
  EXPECT_ERROR(parse_csv("a,b\n\"x\ny\",1\n1,2,3\n", "t.csv"), ErrorKind::kFormat, "line 4 has 3 cells");
  EXPECT_ERROR(parse_csv("a\n\"x", "t.csv"), ErrorKind::kFormat, "line 2: a quote is not closed");
  EXPECT_ERROR(parse_csv("a\n\"x\"y\n", "t.csv"), ErrorKind::kFormat, "text after a closing quote");
  EXPECT_ERROR(parse_csv("a\nx\ry\n", "t.csv"), ErrorKind::kFormat, "carriage return");
}

}  // namespace
}  // namespace headscope
