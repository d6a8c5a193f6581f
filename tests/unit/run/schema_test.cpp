#include "headscope/run/schema.h"
#include "headscope/run/schema/capture.h"
#include "headscope/run/schema/compare.h"
#include "headscope/run/schema/organize.h"
#include "headscope/run/schema/relate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "headscope/run/run_contents.h"
#include "headscope/run/run_folder.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const ColumnSpec& column : table.columns()) names.push_back(column.name);
  return names;
}

TEST(Schema, FillsPatterns) {
  EXPECT_EQ(fill("affinity/<metric>_<pair>.npy", {{"metric", "pk"}, {"pair", "OQ"}}), "affinity/pk_OQ.npy");
  EXPECT_EQ(fill("heads.csv", {}), "heads.csv");
  EXPECT_EQ(fill("<a><a>", {{"a", "x"}}), "xx");
  EXPECT_EQ(fill("<a>", {{"a", "<b>"}}), "<b>");  // a value is not a pattern
  EXPECT_ERROR(fill("trees/<axis>.json", {}), ErrorKind::kInvalidArgument, "no value for <axis>");
}

TEST(Schema, MatchesPatterns) {
  const auto found = match("affinity/<metric>_<pair>.npy", "affinity/weighted_pk_OQ.npy");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Placeholders{{"metric", "weighted_pk"}, {"pair", "OQ"}}));
  EXPECT_TRUE(match("heads.csv", "heads.csv"));
  for (const char* text : {"affinity/_OQ.npy", "affinity/pk_.npy", "affinity/pk.npy", "affinity/a/b_OQ.npy",
                           "affinity/pk_OQ.npz", "affinity/pk_OQ.npy.npy.", "x/affinity/pk_OQ.npy", ""}) {
    EXPECT_FALSE(match("affinity/<metric>_<pair>.npy", text)) << text;
  }
  EXPECT_FALSE(match("heads.csv", "heads.csvx"));
}

TEST(Schema, EveryFileIsFoundByItsPathAndExplained) {
  std::set<std::string_view> paths;
  for (const FileSchema* file : run_schema()) {
    SCOPED_TRACE(file->path);
    EXPECT_TRUE(paths.insert(file->path).second) << "duplicate";
    EXPECT_FALSE(file->command.empty());
    EXPECT_FALSE(file->kind.empty());
    EXPECT_TRUE(file->about.ends_with('.')) << file->about;
    EXPECT_EQ(file->kind == "table", !file->columns.empty());
    std::set<std::string_view> columns;
    for (const ColumnSchema& column : file->columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << column.name;
      EXPECT_FALSE(column.about.empty()) << column.name;
    }
    std::string path(file->path);
    for (std::size_t i = path.find('<'); i != std::string::npos; i = path.find('<')) {
      path.replace(i, path.find('>') - i + 1, "x");
    }
    EXPECT_EQ(find_schema(path), file);
    EXPECT_EQ(find_schema("inputs/12/" + path), file->per_input ? file : nullptr);
  }
  EXPECT_EQ(find_schema("affinity/pk_OQ.npy"), &run_files::kAffinity);
  EXPECT_EQ(find_schema("affinity/head.npy"), &run_files::kAxisAffinity);
  for (const char* path : {"other.csv", "inputs/1/heads.csv", "inputs/x/pattern.npy", "inputs//pattern.npy", ""}) {
    EXPECT_EQ(find_schema(path), nullptr) << path;
  }
}

TEST(Schema, FilesOfInputsHaveAFolder) {
  EXPECT_EQ(input_folder(0), "");
  EXPECT_EQ(input_folder(3), "inputs/3/");
  EXPECT_EQ(describe_input(run_files::kPattern, 2, {1, 2, 3}).name, "inputs/2/pattern.npy");
  EXPECT_EQ(describe_input(run_files::kPattern, 0).name, "pattern.npy");
}

TEST(Schema, DescribesFilesForTheManifest) {
  const RunFile file = describe(run_files::kAxisAffinity, {{"axis", "head"}}, {4, 4});
  EXPECT_EQ(file.name, "affinity/head.npy");
  EXPECT_EQ(file.about, "Affinity exp(-EMD / (epsilon * median)) the head tree was made from.");
  EXPECT_THAT(file.axes, ElementsAre("head", "head"));
  EXPECT_EQ(file.shape, (Shape{4, 4}));
}

constexpr std::array kColumns = std::to_array<ColumnSchema>({
    {"name", ColumnType::kText, "Name"},
    {"<x>", ColumnType::kDouble, "Value"},
    {"<x>_low", ColumnType::kDouble, "Lower end", true},
    {"<y>", ColumnType::kInteger, "Count"},
    {"present", ColumnType::kInteger, "Renamed", false, "former"},
});
constexpr FileSchema kFile = {
    .command = "test", .path = "test.csv", .kind = "table", .about = "A test.", .columns = kColumns};

TEST(Schema, RepeatsJointColumnsTogether) {
  const Table table = make_table(kFile, {{"x", {"a", "b"}}, {"y", {"c", "d"}}});
  EXPECT_THAT(names_of(table), ElementsAre("name", "a", "a_low", "b", "b_low", "c", "d", "present"));
  EXPECT_EQ(table.columns()[2].type, ColumnType::kDouble);
  EXPECT_EQ(table.columns()[5].type, ColumnType::kInteger);
  EXPECT_THAT(names_of(make_table(kFile, {{"x", {}}, {"y", {}}})), ElementsAre("name", "present"));
  EXPECT_ERROR(make_table(kFile, {{"x", {"a"}}}), ErrorKind::kInvalidArgument, "test.csv: no values for <y>");
}

TEST(Schema, FindsColumnsByNameThenByPattern) {
  EXPECT_EQ(find_column(kFile, "name"), &kColumns[0]);
  EXPECT_EQ(find_column(kFile, "former"), &kColumns[4]);
  EXPECT_EQ(find_column(kFile, "anything"), &kColumns[1]);
  EXPECT_EQ(find_column(run_files::kHeads, "anything"), nullptr);
  EXPECT_EQ(find_column(run_files::kHeads, ""), nullptr);
  EXPECT_EQ(find_column(run_files::kSparsity, "gain_shuffled")->name, "gain_shuffled");
}

Table read(const std::string& text, const FileSchema& file) {
  return typed_table(parse_csv(text, "f"), file, "f");
}

TEST(Schema, GivesTablesTheirTypesAndPresentNames) {
  const Table table = read("head,number,rank_Q,own\nL0H1,1,,7\n", run_files::kHeads);
  EXPECT_THAT(names_of(table), ElementsAre("head", "index", "rank_Q", "own"));
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(table.values(1)), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(std::isnan(std::get<std::vector<double>>(table.values(2))[0]));
  EXPECT_EQ(std::get<std::vector<std::string>>(table.values(3)), (std::vector<std::string>{"7"}));
  // With both names, neither changes.
  EXPECT_THAT(names_of(read("number,index\n1,2\n", run_files::kHeads)), ElementsAre("number", "index"));
}

TEST(Schema, ReadsBackWhatATableWrites) {
  Table table = make_table(run_files::kEdges, {{"null", {"span"}}});
  table.add_row({"OQ", "L0H0", "L1H1", 0.1F, 1, 1.0 / 3, 1e-12, std::nan(""), -300.5, true, false, 0.5, 0.25, "beta"});
  EXPECT_EQ(read(table.csv(), run_files::kEdges).csv(), table.csv());
  Table flags = make_table(run_files::kComparison);
  flags.add_row({"1.0", "1", "l1", 1.0, 2.0, 3.0, std::nan(""), 0.5, 1.0, true, "none"});
  EXPECT_EQ(read(flags.csv(), run_files::kComparison).csv(), flags.csv());
}

TEST(Schema, SaysWhichCellDoesNotFit) {
  const auto fails = [](const std::string& text, const FileSchema& file, const std::string& message) {
    EXPECT_ERROR(read(text, file), ErrorKind::kFormat, message);
  };
  fails("layer\n0\nx\n", run_files::kHeads, "f: 'x' in column 'layer', row 2: expected integer");
  fails("layer\n\"\"\n", run_files::kHeads, "f: '' in column 'layer', row 1: expected integer");
  fails("layer\n1.5\n", run_files::kHeads, "expected integer");
  fails("rank_Q\n1x\n", run_files::kHeads, "expected integer or empty");
  fails("score\n1,5\n", run_files::kEdges, "line 2 has 2 cells");
  fails("score\nabc\n", run_files::kEdges, "expected float32");
  fails("strength\n1e999\n", run_files::kHubs, "expected float64");
  fails("paired\nYes\n", run_files::kComparison, "'Yes' in column 'paired', row 1: expected yes or no");
}

std::string manifest(const std::string& schema) {
  return R"({)" + schema +
         R"("files": {"heads.csv": {}}, "commands": {"organize": {"identity": {"keys": "", "n": 3}}}})";
}

TEST(RunContents, ReadsFoldersOfBothVersions) {
  const TemporaryFolder folder;
  folder.write("heads.csv", "head,number\nL0H1,1\n");
  folder.write("manifest.json", manifest(""));
  const RunContents run(folder.path());
  EXPECT_EQ(run.table("heads.csv").find("index"), 1u);
  EXPECT_EQ(run.text_table("heads.csv").find("number"), 1u);
  EXPECT_EQ(run.identity("organize", "keys"), "");
  EXPECT_EQ(run.identity("organize", "n"), std::nullopt);
  EXPECT_EQ(run.identity("organize", "queries"), std::nullopt);
  EXPECT_EQ(run.identity("relate", "keys"), std::nullopt);
  folder.write("manifest.json", manifest(R"("schema": 2, )"));
  EXPECT_TRUE(RunContents(folder.path()).has("heads.csv"));
}

TEST(RunContents, RejectsWhatANewerVersionWrote) {
  const TemporaryFolder folder;
  folder.write("manifest.json", manifest(R"("schema": 3, )"));
  const std::string message =
      "manifest.json: has version 3 of the run folder's schema, written by a newer headscope; this one reads versions "
      "1 "
      "to 2";
  EXPECT_ERROR(RunContents(folder.path()), ErrorKind::kUnsupported, message);
  const RunCommand command{"relate", {"relate"}, {}, {}};
  EXPECT_ERROR(RunFolder(folder.path(), command, false), ErrorKind::kUnsupported, message);
  EXPECT_ERROR(RunFolder(folder.path(), command, true), ErrorKind::kUnsupported, message);
  for (const char* schema : {R"("schema": "2", )", R"("schema": -1, )", R"("schema": [], )", R"("schema": 1.5, )"}) {
    folder.write("manifest.json", manifest(schema));
    EXPECT_ERROR(RunContents(folder.path()), ErrorKind::kFormat, "'schema' is not a number");
  }
}

}  // namespace
}  // namespace headscope
