#include "headscope/tree/tree_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headscope/tree/flexible_tree.h"
#include "support/affinities.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

using Levels = std::vector<PartitionTree::Level>;

PartitionTree read(std::string_view text) {
  const JsonDocument document = JsonDocument::parse(text, "tree.json");
  return tree_from_json(document.root(), "tree.json");
}

TEST(TreeJson, WritesRootFirstWithElementsAscending) {
  const PartitionTree tree(Levels{{{0, 1, 2}}, {{2, 0}, {1}}, {{0}, {1}, {2}}});
  EXPECT_EQ(to_json(tree),
            "{\"n\": 3, \"levels\": [\n"
            "  {\"folders\": [[0, 1, 2]]},\n"
            "  {\"folders\": [[0, 2], [1]]},\n"
            "  {\"folders\": [[0], [2], [1]]}\n"
            "]}\n");
}

TEST(TreeJson, ReadsBackWhatItWrites) {
  for (const std::size_t n : {1u, 2u, 7u, 50u}) {
    const PartitionTree tree = flexible_tree(test::random_affinity(n, n));
    EXPECT_EQ(read(to_json(tree)), tree);
    EXPECT_EQ(read(to_json(tree, std::vector<std::string>(n, "a name"))), tree);
  }
}

TEST(TreeJson, WritesNamesThatAnyReaderAccepts) {
  const PartitionTree tree(Levels{{{0, 1, 2}}, {{0}, {1}, {2}}});
  const std::string text = to_json(tree, std::vector<std::string>{"L0H0", "\"\n", "\xFF"});
  const JsonDocument document = JsonDocument::parse(text, "tree.json");
  std::vector<std::string> names;
  for (const JsonValue name : document.root().find("names").items()) names.emplace_back(name.as_string().value());
  EXPECT_EQ(names, (std::vector<std::string>{"L0H0", "\"\n", "\xEF\xBF\xBD"}));
}

TEST(TreeJson, WantsAsManyNamesAsElements) {
  const PartitionTree tree(Levels{{{0}}});
  EXPECT_ERROR(to_json(tree, std::vector<std::string>(2)), ErrorKind::kInvalidArgument,
               "2 names for a tree of 1 elements");
}

TEST(TreeJson, AcceptsAnyOrderAndUnknownMembers) {
  EXPECT_EQ(read(R"({"made by": 1, "levels": [{"folders": [[1, 0]], "t": 2}, {"folders": [[1], [0.0]]}], "n": 2})"),
            PartitionTree(Levels{{{0, 1}}, {{0}, {1}}}));
}

TEST(TreeJson, RefusesBrokenTreesNamingFileAndPlace) {
  struct Broken {
    std::string text;
    std::string message;
  };
  const std::string root = R"({"folders": [[0, 1, 2]]})";
  const std::string leaves = R"({"folders": [[0], [1], [2]]})";
  const auto three = [&](const std::string& levels) { return R"({"n": 3, "levels": [)" + levels + "]}"; };
  const std::vector<Broken> table = {
      {"[]", "is not a tree"},
      {"null", "is not a tree"},
      {"{}", "has no 'n' that is a positive integer"},
      {R"({"n": 0, "levels": []})", "has no 'n' that is a positive integer"},
      {R"({"n": -1, "levels": []})", "has no 'n' that is a positive integer"},
      {R"({"n": 1.5, "levels": []})", "has no 'n' that is a positive integer"},
      {R"({"n": "3", "levels": []})", "has no 'n' that is a positive integer"},
      {R"({"n": 3})", "has no 'levels' list"},
      {R"({"n": 3, "levels": {}})", "has no 'levels' list"},
      {three(""), "no levels"},
      {three("7"), "level 0: has no 'folders' list"},
      {three(R"({"folders": 1})"), "level 0: has no 'folders' list"},
      {three(R"({"folders": [1]})"), "level 0, folder 0: is not a list"},
      {three(R"({"folders": [["0"]]})"), "level 0, folder 0: holds something that is not a non-negative integer"},
      {three(R"({"folders": [[0, -1]]})"), "level 0, folder 0: holds something that is not a non-negative integer"},
      {three(root + R"(, {"folders": [[0], [1], [3]]})"), "level 1, folder 2: holds element 3, expected less than 3"},
      {three(R"({"folders": [[0, 18446744073709551615]]})"), "level 0, folder 0: holds something that is not"},
      {three(R"({"folders": [[0, 1]]})"), "'n' is 3, but the root holds 2 elements"},
      {R"({"n": 9000000000000000000, "levels": [{"folders": [[0, 1]]}]})",
       "'n' is 9000000000000000000, but the root holds 2 elements"},
      {R"({"n": 9000000000000000000, "levels": []})", "no levels"},
      {three(R"({"folders": []})"), "level 0 (the root) has 0 folders"},
      {three(leaves), "level 0 (the root) has 3 folders"},
      {three(R"({"folders": [[0, 1, 1]]})"), "holds element 1, which is already in folder 0 of this level"},
      {three(root), "level 0 is the last"},
      {three(root + R"(, {"folders": [[0], [2]]})"), "level 1 lacks element 1 of 3"},
      {three(root + R"(, {"folders": [[0], [2], [0]]})"),
       "level 1, folder 2 holds element 0, which is already in folder 0"},
      {three(root + R"(, {"folders": [[0, 1], [2]]}, {"folders": [[0], [1, 2]]})"),
       "level 2, folder 1 holds elements 1 and 2, which are in two folders of level 1"},
      {three(root + ", " + root + ", " + leaves), "level 1 is the same as level 0"},
      {R"({"n": 1, "levels": [{"folders": [[0]]}], "names": "x"})", "'names' is not a list of 1 strings"},
      {R"({"n": 1, "levels": [{"folders": [[0]]}], "names": []})", "'names' is not a list of 1 strings"},
      {R"({"n": 1, "levels": [{"folders": [[0]]}], "names": [1]})", "'names' holds something that is not a string"},
  };
  for (const auto& [text, message] : table) {
    EXPECT_ERROR(read(text), ErrorKind::kFormat, "tree.json");
    EXPECT_ERROR(read(text), ErrorKind::kFormat, message);
  }
}

}  // namespace
}  // namespace headscope
