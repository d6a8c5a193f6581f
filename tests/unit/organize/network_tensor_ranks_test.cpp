#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "headscope/organize/network_tensor.h"
#include "headscope/organize/tensor_share.h"
#include "support/expect_error.h"
#include "support/random.h"
#include "support/thread_ranks.h"

namespace headscope {
namespace {

constexpr std::size_t kMaxRanks = 4;

// A network tensor of an array, with what it is made by.
struct Case {
  std::string name;
  Shape shape;
  NetworkTensorOptions options;
  std::vector<float> values;
  std::vector<float> mask = {};
};

// Some zeros, one head of zeros alone and one of a single value, as [head, query, key].
std::vector<float> maps(std::size_t heads, std::size_t size) {
  std::vector<float> values = test::normals(heads * size, 7);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 0;
  const auto head = [&](std::size_t h) { return values.begin() + static_cast<std::ptrdiff_t>(h * size); };
  if (heads > 2) std::fill(head(1), head(2), 0.0F);
  if (heads > 2) std::fill(head(2), head(3), 0.5F);
  return values;
}

std::vector<float> heads_last(const std::vector<float>& values, std::size_t heads) {
  std::vector<float> transposed(values.size());
  const std::size_t size = values.size() / heads;
  for (std::size_t i = 0; i < values.size(); ++i) transposed[i % size * heads + i / size] = values[i];
  return transposed;
}

// All axes with all masks.
std::vector<Case> cases() {
  constexpr std::size_t kHeads = 6;
  constexpr std::size_t kQueries = 5;
  constexpr std::size_t kKeys = 7;
  const std::vector<float> many = maps(kHeads, kQueries * kKeys);
  const std::vector<float> one = maps(1, kQueries * kKeys);
  std::vector<Case> bare = {{"hqk", {kHeads, kQueries, kKeys}, {.axes = "hqk"}, many},
                            {"lhqk", {2, 3, kQueries, kKeys}, {.axes = "lhqk"}, many},
                            {"qkh", {kQueries, kKeys, kHeads}, {.axes = "qkh"}, heads_last(many, kHeads)},
                            {"qk", {kQueries, kKeys}, {.axes = "qk"}, one}};
  bare.push_back(bare[1]);
  bare.back().name = "some of lhqk";
  bare.back().options.heads = {0, 2};
  bare.back().options.keys = {{1, 6}};
  bare.back().options.skip_first = 1;
  bare.push_back(bare[2]);
  bare.back().name = "some of qkh";
  bare.back().options.heads = {0, 1, 5};
  bare.back().options.queries = {{1, 5}};
  bare.back().options.skip_first = 2;
  std::vector<Case> all;
  const auto add = [&](const Case& from, const char* name, MaskChoice::Kind kind, std::vector<float> mask = {},
                       const Shape& shape = {}) {
    all.push_back(from);
    all.back().name += std::string(", ") + name;
    all.back().options.mask.kind = kind;
    all.back().options.mask.shape = shape;
    all.back().mask = std::move(mask);
  };
  for (const Case& from : bare) {
    std::vector<float> some = test::normals(from.values.size(), 9);
    for (float& value : some) value = value > -1 ? value : 0;
    std::vector<float> last(from.values.size(), 1.0F);
    last[last.size() - 3] = 0;  // one hole, in the last head that has one here
    std::vector<float> shared(kQueries * kKeys, 1.0F);
    shared[4] = shared[17] = shared[18] = 0;
    add(from, "no mask", MaskChoice::Kind::kNone);
    add(from, "causal", MaskChoice::Kind::kCausal);
    add(from, "zeros", MaskChoice::Kind::kZeros);
    add(from, "of the heads", MaskChoice::Kind::kExplicit, some, from.shape);
    add(from, "of the heads, one hole", MaskChoice::Kind::kExplicit, last, from.shape);
    add(from, "of the heads, no hole", MaskChoice::Kind::kExplicit, std::vector<float>(last.size(), 2.0F), from.shape);
    add(from, "shared", MaskChoice::Kind::kExplicit, shared, {kQueries, kKeys});
    add(from, "shared, scores", MaskChoice::Kind::kExplicit, shared, {kQueries, kKeys});
    all.back().options.kind = MapKind::kScores;
    all.back().options.keep_absent = true;
    add(from, "shared, no hole", MaskChoice::Kind::kExplicit, std::vector<float>(kQueries * kKeys, 1.0F),
        {kQueries, kKeys});
  }
  return all;
}

NetworkTensor make(const Case& from, Ranks& ranks = one_rank()) {
  NetworkTensorOptions options = from.options;
  options.mask.values = from.mask;
  return make_network_tensor(from.values, from.shape, options, "maps.npy", ranks);
}

// This rank's part is what the whole has of its heads.
void expect_part(const NetworkTensor& part, const NetworkTensor& whole, Ranks& ranks) {
  const TensorShare share(part, whole.head_names, ranks);
  const IndexRange own = share.own_heads();
  ASSERT_EQ(part.extents, (std::array<std::size_t, 3>{own.size(), whole.queries(), whole.keys()}));
  EXPECT_EQ(share.extents(), whole.extents);
  EXPECT_EQ(part.notes, whole.notes);
  EXPECT_EQ(part.kind, whole.kind);
  EXPECT_EQ(part.query_positions, whole.query_positions);
  EXPECT_EQ(part.key_positions, whole.key_positions);
  EXPECT_EQ(part.masked(), whole.masked());
  EXPECT_EQ(part.shared_mask(), whole.shared_mask());
  EXPECT_TRUE(!whole.shared_mask() || part.present == whole.present);
  EXPECT_EQ(part.present.size(), whole.shared_mask() || !whole.masked() ? whole.present.size() : part.values.size());
  ASSERT_EQ(part.values.size(), own.size() * whole.map_size());
  for (std::size_t h = own.begin; h < own.end; ++h) {
    EXPECT_EQ(part.head_names[h - own.begin], whole.head_names[h]);
    EXPECT_TRUE(std::ranges::equal(part.map(h - own.begin), whole.map(h))) << h;
    EXPECT_TRUE(std::ranges::equal(part.mask(h - own.begin), whole.mask(h))) << h;
  }
}

TEST(NetworkTensorRanks, PartsPutTogetherAreTheTensorOfOneProcess) {
  for (const Case& one : cases()) {
    const NetworkTensor whole = make(one);
    for (std::size_t size = 1; size <= kMaxRanks; ++size) {
      test::on_ranks(size, [&](Ranks& ranks) {
        SCOPED_TRACE(one.name + ", rank " + std::to_string(ranks.rank()) + " of " + std::to_string(size));
        expect_part(make(one, ranks), whole, ranks);
      });
    }
  }
}

TEST(NetworkTensorRanks, ThereMayBeMoreRanksThanHeads) {
  for (const Case& one : cases()) {
    const NetworkTensor whole = make(one);
    test::on_ranks(9, [&](Ranks& ranks) {
      SCOPED_TRACE(one.name + ", rank " + std::to_string(ranks.rank()) + " of 9");
      expect_part(make(one, ranks), whole, ranks);
    });
  }
}

TEST(NetworkTensorRanks, NotesAreThoseOfAllHeads) {
  std::vector<float> values = maps(6, 35);
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kZeros;
  const std::vector<std::string> expected = {"no present entry in H1", "one value throughout in H2"};
  test::on_ranks(4, [&](Ranks& ranks) {
    EXPECT_EQ(make_network_tensor(values, Shape{6, 5, 7}, options, "x", ranks).notes, expected);
  });
}

TEST(NetworkTensorRanks, ARankReadsNothingButItsHeads) {
  constexpr std::size_t kSize = 35;
  std::mutex mutex;
  test::on_ranks(3, [&](Ranks& ranks) {
    const IndexRange own = partition_range(7, ranks.rank(), ranks.size());
    const auto read = [&](std::size_t first, std::span<float> out) {
      const std::lock_guard lock(mutex);
      EXPECT_GE(first, own.begin * kSize);
      EXPECT_LE(first + out.size(), own.end * kSize);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(first + i);
    };
    const ArraySource array({7, 5, 7}, read);
    NetworkTensorOptions options;
    options.mask.kind = MaskChoice::Kind::kExplicit;
    options.mask.array = array;
    EXPECT_EQ(make_network_tensor(array, options, "x", ranks).heads(), own.size());
  });
}

// What each rank throws.
std::vector<std::string> messages(std::size_t size, const Case& from, ErrorKind kind) {
  std::vector<std::string> found(size);
  test::on_ranks(size, [&](Ranks& ranks) {
    try {
      static_cast<void>(make(from, ranks));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_TRUE(size == 1 || dynamic_cast<const AgreedError*>(&error) != nullptr) << error.what();
      found[ranks.rank()] = error.what();
    }
  });
  return found;
}

TEST(NetworkTensorRanks, WhatIsWrongWithTheWholeIsSaidByAll) {
  const Shape shape = {6, 5, 7};
  const std::vector<float> values = maps(6, 35);
  std::vector<float> no_query(values.size(), 1.0F);
  for (std::size_t h = 0; h < 6; ++h) std::fill_n(no_query.begin() + static_cast<std::ptrdiff_t>(h * 35 + 14), 7, 0.0F);
  std::vector<float> no_key(35, 1.0F);
  for (std::size_t q = 0; q < 5; ++q) no_key[q * 7 + 3] = 0;
  const auto explicit_mask = [](const Shape& of) {
    NetworkTensorOptions options;
    options.mask.kind = MaskChoice::Kind::kExplicit;
    options.mask.shape = of;
    return options;
  };
  const auto expect = [](const Case& one, ErrorKind kind, const std::string& text) {
    for (std::size_t size = 1; size <= kMaxRanks; ++size) {
      for (const std::string& message : messages(size, one, kind)) EXPECT_EQ(message, text);
    }
  };
  expect({"", shape, explicit_mask(shape), values, no_query}, ErrorKind::kFormat,
         "maps.npy: query 2 has no present entry in any head; choose a range without it");
  expect({"", shape, explicit_mask({5, 7}), values, no_key}, ErrorKind::kFormat,
         "maps.npy: key 3 has no present entry in any head; choose a range without it");
  expect({"", shape, explicit_mask({7, 5}), values, no_key}, ErrorKind::kFormat,
         "maps.npy: the mask is [7, 5], expected [5, 7] (query, key) or the array's own [6, 5, 7]");
  expect({"", shape, {.axes = "qk"}, values}, ErrorKind::kFormat,
         "maps.npy: the array is [6, 5, 7], which does not match the 2 axes of 'qk'");
  expect({"", shape, {.heads = {9}}, values}, ErrorKind::kInvalidArgument,
         "maps.npy: head 9 requested, but there are 6, numbered from 0");
}

TEST(NetworkTensorRanks, AQueryMayBePresentOnAnotherRankAlone) {
  const Shape shape = {4, 5, 7};
  std::vector<float> mask(4 * 35, 1.0F);
  for (std::size_t h = 0; h < 3; ++h) std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(h * 35 + 14), 7, 0.0F);
  NetworkTensorOptions options;
  options.mask = {MaskChoice::Kind::kExplicit, mask, shape, {}, {}};
  const std::vector<float> values = test::normals(mask.size(), 3);
  std::atomic<int> made = 0;
  test::on_ranks(4, [&](Ranks& ranks) {
    EXPECT_TRUE(make_network_tensor(values, shape, options, "x", ranks).masked());
    ++made;
  });
  EXPECT_EQ(made, 4);
}

TEST(NetworkTensorRanks, ANanIsSaidByTheRankThatHasIt) {
  std::vector<float> values = test::normals(6 * 35, 3);
  values[4 * 35 + 8] = std::numeric_limits<float>::quiet_NaN();  // head 4 of 6: rank 2 of 3
  std::atomic<int> told = 0;
  const auto work = [&](Ranks& ranks) {
    try {
      static_cast<void>(make_network_tensor(values, Shape{6, 5, 7}, {}, "maps.npy", ranks));
    } catch (const RankFailed& failed) {
      EXPECT_EQ(failed.rank(), 2u);
      ++told;
    }
  };
  EXPECT_ERROR(test::on_ranks(3, work), ErrorKind::kNumeric,
               "maps.npy: head H4, query 1, key 1 is nan, expected a finite number; use a mask to mark absent entries");
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace headscope
