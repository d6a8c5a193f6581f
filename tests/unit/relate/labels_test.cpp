#include "headscope/relate/labels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

HeadLabels parse(std::string_view text) {
  return HeadLabels::parse(text, "labels.json");
}

std::string classes(std::string_view heads) {
  return "{\"classes\": {\"previous\": " + std::string(heads) + "}}";
}

HeadSizes gpt2_sizes() {
  return {.layers = 12, .heads = 12, .kv_heads = 12, .d_model = 768, .d_head = 64};
}

TEST(Labels, SayWhichClassesAHeadIsIn) {
  const HeadLabels labels = parse(R"({"name": "n", "source": "s",
      "classes": {"previous": ["2.2", "L4H11"], "identity": ["4,7", "2.2"], "kv": ["l1kv3"], "none": []},
      "ignored": ["identity"]})");
  EXPECT_EQ(labels.name(), "n");
  EXPECT_EQ(labels.source(), "s");
  ASSERT_EQ(labels.classes().size(), 4u);
  EXPECT_EQ(labels.classes()[1].heads, (std::vector<HeadId>{{4, 7, false}, {2, 2, false}}));
  EXPECT_TRUE(labels.classes()[1].ignored);
  EXPECT_FALSE(labels.classes()[0].ignored);

  EXPECT_EQ(labels.classes_of({2, 2, false}), (std::vector<std::string>{"previous", "identity"}));
  EXPECT_TRUE(labels.is_labeled({2, 2, false}));
  EXPECT_TRUE(labels.is_labeled({4, 11, false}));
  EXPECT_EQ(labels.classes_of({4, 7, false}), (std::vector<std::string>{"identity"}));
  EXPECT_FALSE(labels.is_labeled({4, 7, false}));
  EXPECT_TRUE(labels.is_in_class({4, 7, false}));
  EXPECT_TRUE(labels.is_labeled({1, 3, true}));
  EXPECT_FALSE(labels.is_in_class({1, 3, false}));
  EXPECT_TRUE(labels.classes_of({9, 9, false}).empty());
}

TEST(Labels, AreEmptyByDefault) {
  EXPECT_FALSE(HeadLabels().is_in_class({0, 0, false}));
  EXPECT_NO_THROW(HeadLabels().check_against(gpt2_sizes()));
}

TEST(Labels, NeedNothingButClasses) {
  const HeadLabels labels = parse(classes("[\"0.0\"]"));
  EXPECT_EQ(labels.name(), "");
  EXPECT_TRUE(labels.is_labeled({0, 0, false}));
}

TEST(Labels, RefuseBrokenFilesSayingWhatIsWrong) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::vector<Case> cases = {
      {"", "not valid JSON"},
      {"[]", "is not a JSON object"},
      {"{}", "has no object 'classes'"},
      {R"({"classes": []})", "has no object 'classes'"},
      {R"({"classes": {}})", "has no classes"},
      {R"({"classes": {"a": []}, "ignore": []})", "unknown key 'ignore', expected 'name'"},
      {R"({"classes": {"a": []}, "a\nb": 1})", "unknown key 'a\\x0ab'"},
      {R"({"classes": {"a": []}, "classes": {"b": []}})", "duplicate key 'classes'"},
      {R"({"classes": {"a": []}, "name": 7})", "'name' is not a string"},
      {R"({"classes": {"a": []}, "source": []})", "'source' is not a string"},
      {R"({"classes": {"": []}})", "empty name"},
      {R"({"classes": {"a\u0001": []}})", "the name of class 'a\\x01' holds a control character"},
      {R"({"classes": {"a\u0085": []}})", "holds a control character"},
      {R"({"classes": {")" + std::string(101, 'a') + R"(": []}})", "a name of 101 bytes, expected at most 100"},
      {R"({"classes": {"a": [], "a": []}})", "duplicate class 'a'"},
      {classes("{}"), "class 'previous' is not a list of heads"},
      {classes("\"2.2\""), "class 'previous' is not a list of heads"},
      {classes("[4.10]"), "class 'previous' holds a number; write heads as strings"},
      {classes("[[\"2.2\"]]"), "holds something that is not a string"},
      {classes("[\"2\\n.2\"]"), "class 'previous' names '2\\x0a.2', expected a head such as L4H7, 4.7 or L4KV1"},
      {classes("[\"99999999999999999999.1\"]"), "expected a head"},
      {classes("[\"2.2\", \"L2H2\"]"), "duplicate head L2H2 in class 'previous'"},
      {R"({"classes": {"a": []}, "ignored": "a"})", "'ignored' is not a list of classes"},
      {R"({"classes": {"a": []}, "ignored": [1]})", "'ignored' holds something that is not a string"},
      {R"({"classes": {"a": []}, "ignored": ["b"]})", "'ignored' names 'b', which is not a class"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(parse(each.text), ErrorKind::kFormat, each.message);
    EXPECT_ERROR(parse(each.text), ErrorKind::kFormat, "labels.json: ");
  }
}

TEST(Labels, NameTheHeadsTheModelDoesNotHave) {
  const auto check = [](std::string_view text) { parse(text).check_against(gpt2_sizes()); };
  EXPECT_NO_THROW(check(classes("[\"0.0\", \"11.11\", \"L11KV11\"]")));
  EXPECT_ERROR(check(classes("[\"11.11\", \"12.3\"]")), ErrorKind::kFormat,
               "labels.json: class 'previous' names L12H3, but the model has 12 layers of 12 heads");
  EXPECT_ERROR(check(R"({"classes": {"a": ["0.12", "12.0"], "b": ["1.1"], "c": ["99.99"]}})"), ErrorKind::kFormat,
               "class 'a' names L0H12, L12H0, class 'c' names L99H99, but the model");
  EXPECT_ERROR(check(classes("[\"20.0\",\"20.1\",\"20.2\",\"20.3\",\"20.4\",\"20.5\",\"20.6\",\"20.7\"]")),
               ErrorKind::kFormat, "L20H4, L20H5 and 2 more, but");
}

TEST(Labels, CountKvHeadsByThemselves) {
  const HeadSizes grouped = {.layers = 2, .heads = 8, .kv_heads = 2, .d_model = 64, .d_head = 8};
  EXPECT_NO_THROW(parse(classes("[\"1.7\", \"L1KV1\"]")).check_against(grouped));
  EXPECT_ERROR(parse(classes("[\"L1KV2\"]")).check_against(grouped), ErrorKind::kFormat,
               "names L1KV2, but the model has 2 layers of 8 heads and 2 KV heads");
}

TEST(Labels, AreLoadedFromAFile) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(load_labels(folder.write("a.json", classes("[\"3.4\"]"))).is_labeled({3, 4, false}));
  EXPECT_ERROR(load_labels(folder.path() / "absent.json"), ErrorKind::kIo, "absent.json: cannot open");
  EXPECT_ERROR(load_labels(folder.write("b.json", "{")), ErrorKind::kFormat, "b.json: not valid JSON");
  EXPECT_ERROR(load_labels(folder.write("c.json", std::string((16 << 20) + 1, ' '))), ErrorKind::kFormat,
               "c.json: has 16777217 bytes, expected at most 16777216 for a label file");
}

TEST(Labels, ThatAreShippedFitGpt2Small) {
  const std::filesystem::path folder = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "data/labels";
  const auto count = [](const HeadLabels& labels, bool (HeadLabels::*is)(HeadId) const noexcept) {
    std::size_t heads = 0;
    for (std::size_t i = 0; i < 144; ++i) heads += (labels.*is)({i / 12, i % 12, false}) ? 1 : 0;
    return heads;
  };
  const HeadLabels wang = load_labels(folder / "gpt2-small-wang2023.json");
  wang.check_against(gpt2_sizes());
  EXPECT_EQ(wang.classes().size(), 7u);
  EXPECT_EQ(count(wang, &HeadLabels::is_labeled), 26u);
  EXPECT_EQ(wang.classes_of({9, 9, false}), (std::vector<std::string>{"name mover"}));

  const HeadLabels pk = load_labels(folder / "gpt2-small-pk.json");
  pk.check_against(gpt2_sizes());
  EXPECT_EQ(pk.classes().size(), 8u);
  EXPECT_EQ(count(pk, &HeadLabels::is_in_class), 29u);
  EXPECT_EQ(count(pk, &HeadLabels::is_labeled), 27u);
  EXPECT_EQ(pk.classes_of({4, 7, false}), (std::vector<std::string>{"identity"}));
  EXPECT_FALSE(pk.is_labeled({4, 7, false}));
}

}  // namespace
}  // namespace headscope
