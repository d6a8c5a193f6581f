#include "headscope/organize/network_tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "support/expect_error.h"

namespace headscope {
namespace {

std::vector<float> counting(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

NetworkTensor make(const std::vector<float>& values, const Shape& shape, const NetworkTensorOptions& options = {}) {
  return make_network_tensor(values, shape, options, "maps.npy");
}

std::vector<float> all(const NetworkTensor& tensor) {
  return {tensor.values.values().begin(), tensor.values.values().end()};
}

TEST(NetworkTensor, TakesAxesInTheirOrder) {
  const std::vector<float> values = counting(24);
  const NetworkTensor plain = make(values, {2, 3, 4});
  EXPECT_EQ(plain.extents, (std::array<std::size_t, 3>{2, 3, 4}));
  EXPECT_EQ(all(plain), values);
  EXPECT_EQ(plain.head_names, (std::vector<std::string>{"H0", "H1"}));

  const NetworkTensor layered = make(values, {2, 1, 3, 4}, {.axes = "lhqk"});
  EXPECT_EQ(all(layered), values);
  EXPECT_EQ(layered.head_names, (std::vector<std::string>{"L0H0", "L1H0"}));

  const NetworkTensor last = make(values, {3, 4, 2}, {.axes = "qkh"});
  EXPECT_EQ(last.extents, (std::array<std::size_t, 3>{2, 3, 4}));
  EXPECT_EQ(last.map(1)[5], values[5 * 2 + 1]);

  EXPECT_EQ(make(values, {6, 4}, {.axes = "qk"}).heads(), 1u);
  EXPECT_EQ(make(values, {4, 2, 3}, {.heads_per_layer = 2}).head_names.back(), "L1H1");
}

TEST(NetworkTensor, SelectsLayersHeadsAndRanges) {
  const std::vector<float> values = counting(2 * 3 * 5 * 6);
  const NetworkTensor tensor =
      make(values, {2, 3, 5, 6},
           {.axes = "lhqk", .layers = {1}, .heads = {0, 2}, .queries = {{1, 4}}, .keys = {{0, 5}}, .skip_first = 2});
  EXPECT_EQ(tensor.extents, (std::array<std::size_t, 3>{2, 2, 3}));
  EXPECT_EQ(tensor.head_names, (std::vector<std::string>{"L1H0", "L1H2"}));
  EXPECT_EQ(tensor.query_positions, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(tensor.key_positions, (std::vector<std::size_t>{2, 3, 4}));
  EXPECT_EQ(tensor.map(1)[4], values[((3 + 2) * 5 + 3) * 6 + 3]);
  ASSERT_EQ(tensor.notes.size(), 1u);
  EXPECT_NE(tensor.notes[0].find("first 2 tokens"), std::string::npos);
}

TEST(NetworkTensor, MasksCausallyAlsoWhereThereAreMoreKeysThanQueries) {
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kCausal;
  const NetworkTensor square = make(counting(9), {1, 3, 3}, options);
  EXPECT_EQ(square.present, (std::vector<std::uint8_t>{1, 0, 0, 1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(all(square), (std::vector<float>{1, 0, 0, 4, 5, 0, 7, 8, 9}));
  const NetworkTensor wide = make(counting(8), {1, 2, 4}, options);
  EXPECT_EQ(wide.present, (std::vector<std::uint8_t>{1, 1, 1, 0, 1, 1, 1, 1}));
  options.mask.first_query = 1;
  EXPECT_EQ(make(counting(6), {1, 2, 3}, options).present, (std::vector<std::uint8_t>{1, 1, 0, 1, 1, 1}));
}

TEST(NetworkTensor, MasksZerosAndByAnArray) {
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kZeros;
  std::vector<float> values = counting(12);
  values[7] = 0;
  const NetworkTensor zeros = make(values, {2, 2, 3}, options);
  EXPECT_FALSE(zeros.shared_mask());
  EXPECT_EQ(zeros.mask(1)[1], 0);
  EXPECT_EQ(zeros.mask(0)[1], 1);

  const std::vector<float> shared = {1, 0, 1, 1, 1, 1};
  options.mask = {MaskChoice::Kind::kExplicit, shared, {2, 3}, {}};
  const NetworkTensor by_map = make(counting(12), {2, 2, 3}, options);
  EXPECT_TRUE(by_map.shared_mask());
  EXPECT_EQ(by_map.map(1)[1], 0);
  std::vector<float> full(12, 1.0F);
  full[0] = 0;
  options.mask = {MaskChoice::Kind::kExplicit, full, {2, 2, 3}, {}};
  EXPECT_EQ(make(counting(12), {2, 2, 3}, options).mask(0)[0], 0);
  const std::vector<float> nothing_absent(6, 1.0F);
  options.mask = {MaskChoice::Kind::kExplicit, nothing_absent, {2, 3}, {}};
  EXPECT_TRUE(make(counting(12), {2, 2, 3}, options).present.empty());
}

TEST(NetworkTensor, KeepsAbsentValuesOnRequestAndMakesThemFinite) {
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kCausal;
  options.kind = MapKind::kScores;
  options.keep_absent = true;
  std::vector<float> values = counting(9);
  values[1] = -std::numeric_limits<float>::infinity();
  const NetworkTensor tensor = make(values, {1, 3, 3}, options);
  EXPECT_EQ(all(tensor), (std::vector<float>{1, 1, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(tensor.mask(0)[1], 0);
}

TEST(NetworkTensor, FillsAbsentEntriesWithWhatMakesNoContrast) {
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kCausal;
  const std::vector<float> values = {3, 9, 9, 6};
  EXPECT_EQ(filled_map(make(values, {1, 2, 2}, options), 0), (std::vector<double>{3, 0, 9, 6}));
  options.kind = MapKind::kScores;
  EXPECT_EQ(filled_map(make(values, {1, 2, 2}, options), 0), (std::vector<double>{3, 6, 9, 6}));
  const Buffer<float> filled = filled_values(make(values, {1, 2, 2}, options));
  EXPECT_EQ(filled.values()[1], 6);
}

TEST(NetworkTensor, NotesHeadsThatSayNothing) {
  std::vector<float> values = counting(3 * 4);
  std::fill(values.begin() + 4, values.begin() + 8, 0.5F);
  std::fill(values.begin() + 8, values.end(), 0.0F);
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kZeros;
  const NetworkTensor tensor = make(values, {3, 2, 2}, options);
  EXPECT_EQ(tensor.notes, (std::vector<std::string>{"no present entry in H2", "one value throughout in H1"}));
}

TEST(NetworkTensor, SaysWhatIsWrong) {
  const std::vector<float> values = counting(24);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(make(values, {2, 3, 4}, {.axes = "abc"}), ErrorKind::kInvalidArgument,
               "unknown axes 'abc'; expected one of");
  EXPECT_ERROR(make(values, {2, 12}), ErrorKind::kFormat,
               "maps.npy: the array is [2, 12], which does not match the 3 axes");
  EXPECT_ERROR(make({}, {2, 0, 4}), ErrorKind::kFormat, "expected at least 1 along every axis");
  EXPECT_ERROR(make(values, {24, 1, 1}), ErrorKind::kUnsupported, "1 queries left");
  EXPECT_ERROR(make(values, {2, 3, 4}, {.heads_per_layer = 3}), ErrorKind::kFormat, "2 heads are not a multiple of 3");
  EXPECT_ERROR(make(values, {2, 3, 4}, {.layers = {0}}), ErrorKind::kInvalidArgument, "use axes lhqk");
  EXPECT_ERROR(make(values, {2, 3, 4}, {.heads = {2}}), ErrorKind::kInvalidArgument,
               "head 2 requested, but there are 2");
  EXPECT_ERROR(make(values, {2, 3, 4}, {.queries = {{2, 5}}}), ErrorKind::kInvalidArgument, "queries 2 to 5");
  EXPECT_ERROR(make(values, {2, 3, 4}, {.head_names = {"a"}}), ErrorKind::kFormat,
               "1 names for 2 heads, expected one per head");
  std::vector<float> broken = values;
  broken[17] = nan;
  EXPECT_ERROR(make(broken, {2, 3, 4}), ErrorKind::kNumeric, "maps.npy: head H1, query 1, key 1 is nan");
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kExplicit;
  const std::vector<float> no_key = {1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1};
  options.mask.values = no_key;
  options.mask.shape = {3, 4};
  EXPECT_ERROR(make(values, {2, 3, 4}, options), ErrorKind::kFormat, "key 1 has no present entry in any head");
  options.mask.shape = {4, 3};
  EXPECT_ERROR(make(values, {2, 3, 4}, options), ErrorKind::kFormat, "the mask is [4, 3], expected [3, 4]");
}

}  // namespace
}  // namespace headscope
