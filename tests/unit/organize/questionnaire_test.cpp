#include "headscope/organize/questionnaire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/organize/cosine_affinity.h"
#include "headscope/tree/tree_agreement.h"
#include "support/expect_error.h"
#include "support/hidden_tensor.h"
#include "support/organize_reference.h"
#include "support/random.h"
#include "support/random_tensor.h"
#include "support/tensor_parts.h"

namespace headscope {
namespace {

using Extents = std::array<std::size_t, 3>;
using test::HiddenTensor;
namespace reference = test::reference;

reference::Tensor as_reference(const NetworkTensor& tensor) {
  reference::Tensor x{tensor.extents,
                      {tensor.values.values().begin(), tensor.values.values().end()},
                      {},
                      tensor.kind == MapKind::kPattern};
  for (std::size_t i = 0; i < x.values.size() && !tensor.present.empty(); ++i) {
    x.present.push_back(tensor.present[i % tensor.present.size()]);
  }
  return x;
}

void expect_near(const DoubleMatrix& a, const DoubleMatrix& b, double tolerance) {
  ASSERT_EQ(a.rows(), b.rows());
  for (std::size_t i = 0; i < a.values().size(); ++i) ASSERT_NEAR(a.values()[i], b.values()[i], tolerance) << i;
}

void expect_reference(const NetworkTensor& tensor, const QuestionnaireOptions& options = {}) {
  const Organization found = organize(tensor, options);
  const reference::Organization expected = reference::questionnaire(
      as_reference(tensor), options.iterations, options.weights.alpha, options.weights.beta, options.epsilon);
  for (const TensorAxis axis : kTensorAxes) {
    const auto a = static_cast<std::size_t>(axis);
    expect_near(found.axis(axis).affinity, expected.affinities[a], 1e-5);
    EXPECT_EQ(test::levels_of(found.axis(axis).tree), test::levels_of(expected.trees[a])) << to_string(axis);
  }
}

// Positive rows that sum to 1, as attention patterns; with `sink` the first key takes most of every row.
std::vector<float> pattern(const Extents& extents, bool causal, bool sink, std::uint64_t seed) {
  std::vector<float> values = test::normals(extents[0] * extents[1] * extents[2], seed);
  for (std::size_t row = 0; row < extents[0] * extents[1]; ++row) {
    float* entries = values.data() + row * extents[2];
    float sum = 0;
    for (std::size_t k = 0; k < extents[2]; ++k) {
      entries[k] = causal && k > row % extents[1] ? 0 : std::exp(2 * entries[k] + (sink && k == 0 ? 8.0F : 0.0F));
      sum += entries[k];
    }
    for (std::size_t k = 0; k < extents[2]; ++k) entries[k] /= sum;
  }
  return values;
}

TEST(Questionnaire, EqualsItsDefinitionOnTensorsOfSeveralShapes) {
  for (const Extents& shape : std::vector<Extents>{{6, 10, 10}, {5, 7, 12}, {12, 9, 4}, {2, 20, 2}, {9, 2, 16}}) {
    expect_reference(make_network_tensor(test::normals(shape[0] * shape[1] * shape[2], 3), shape, {}, "x"));
    expect_reference(make_network_tensor(pattern(shape, false, false, 4), shape, {}, "x"),
                     {.iterations = 2, .weights = {.alpha = 0.5, .beta = 0.5}, .epsilon = 0.7});
  }
}

TEST(Questionnaire, EqualsItsDefinitionUnderMasks) {
  const Extents shape = {5, 9, 9};
  NetworkTensorOptions options;
  options.mask.kind = MaskChoice::Kind::kCausal;
  expect_reference(make_network_tensor(pattern(shape, true, false, 5), shape, options, "x"));
  options.kind = MapKind::kScores;
  expect_reference(make_network_tensor(test::normals(405, 6), shape, options, "x"));

  std::vector<float> holes = test::normals(405, 7);
  for (float& value : holes) value = std::abs(value) < 0.5F ? 0 : value;
  options.mask.kind = MaskChoice::Kind::kZeros;
  expect_reference(make_network_tensor(holes, shape, options, "x"));
  options.kind = MapKind::kPattern;
  expect_reference(make_network_tensor(holes, shape, options, "x"));
}

TEST(Questionnaire, EqualsItsDefinitionWhereSlicesTieAndWhereASinkDisconnects) {
  const Extents shape = {8, 8, 8};
  std::vector<float> tied(512);
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < tied.size(); ++i) {
    // Heads 0-3 equal heads 4-7, keys come in pairs, values are few: sums are exact, and many distances equal.
    const std::size_t h = i / 64 % 4;
    tied[i] = i >= 256 || i % 2 == 1 ? tied[i % 2 == 1 ? i - 1 : h * 64 + i % 64] : static_cast<float>(random() % 4);
  }
  expect_reference(make_network_tensor(tied, shape, {}, "x"), {.iterations = 1});

  // Query 0 sees only key 0, which no other query sees.
  std::vector<float> apart = pattern(shape, false, false, 9);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    if ((i / 8 % 8 == 0) != (i % 8 == 0)) apart[i] = 0;
  }
  expect_reference(make_network_tensor(apart, shape, {}, "x"));
  expect_reference(make_network_tensor(pattern(shape, true, true, 10), shape, {}, "x"));
}

TEST(Questionnaire, PermutesWithItsInput) {
  const Extents shape = {10, 16, 20};
  const std::vector<float> values = test::normals(3200, 12);
  std::array<std::vector<std::size_t>, 3> permutations;
  for (std::size_t axis = 0; axis < 3; ++axis) permutations[axis] = test::random_permutation(shape[axis], axis);
  std::vector<float> moved(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    moved[(permutations[0][i / 320] * 16 + permutations[1][i / 20 % 16]) * 20 + permutations[2][i % 20]] = values[i];
  }
  const Organization before = organize(make_network_tensor(values, shape, {}, "x"));
  const Organization after = organize(make_network_tensor(moved, shape, {}, "x"));
  for (const TensorAxis axis : kTensorAxes) {
    EXPECT_EQ(after.axis(axis).tree,
              test::permuted(before.axis(axis).tree, permutations[static_cast<std::size_t>(axis)]));
  }
  EXPECT_NEAR(after.scores.back(), before.scores.back(), 1e-5 * before.scores.back());
}

// The best agreement of a level of the tree with the hidden level.
double recovered(const HiddenTensor& hidden, const PartitionTree& tree, std::size_t axis, std::size_t hidden_level) {
  const auto classes = hidden.hidden_classes(axis, hidden_level);
  double best = 0;
  for (std::size_t level = 0; level < tree.level_count(); ++level) {
    best = std::max(best, adjusted_rand_index(classes, classes_of_level(tree, level)));
  }
  return best;
}

TEST(Questionnaire, FindsTheHiddenTreesOfAShuffledTensor) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const HiddenTensor hidden({64, 48, 56}, 4, 0.5, 0.05, seed);
    const Organization found = organize(hidden.tensor());
    EXPECT_GT(recovered(hidden, found.head.tree, 0, 1), 0.9) << seed;
    EXPECT_GT(recovered(hidden, found.head.tree, 0, 2), 0.9) << seed;
    EXPECT_GT(recovered(hidden, found.head.tree, 0, 3), 0.9) << seed;
    EXPECT_GT(recovered(hidden, found.query.tree, 1, 1), 0.9) << seed;
    EXPECT_GT(recovered(hidden, found.key.tree, 2, 1), 0.9) << seed;
    EXPECT_LT(recovered(hidden, shuffled(found.head.tree, seed), 0, 2), 0.3) << seed;
  }
}

TEST(Questionnaire, LowersTheScoreOfAShuffledTensor) {
  const HiddenTensor hidden({24, 32, 40}, 3, 0.7, 0.01, 6);
  const Organization found = organize(hidden.tensor(), {.iterations = 5});
  ASSERT_EQ(found.scores.size(), 5u);
  double magnitudes = 0;
  for (const float value : hidden.values) magnitudes += std::abs(static_cast<double>(value));
  EXPECT_LT(found.scores.back(), magnitudes / 5);
  EXPECT_FALSE(found.stopped_early);
}

TEST(Questionnaire, StopsEarlyOnRequest) {
  const HiddenTensor hidden({24, 32, 40}, 3, 0.7, 0.01, 6);
  const Organization found = organize(hidden.tensor(), {.iterations = 20, .stop_below = 0.05});
  EXPECT_TRUE(found.stopped_early);
  EXPECT_LT(found.scores.size(), 20u);
  EXPECT_GE(found.scores.size(), 2u);
}

TEST(Questionnaire, OrganizesASingleMapInTwoAxes) {
  const Extents shape = {1, 30, 22};
  const NetworkTensor tensor = make_network_tensor(test::normals(660, 2), shape, {}, "x");
  const Organization found = organize(tensor, QuestionnaireOptions::for_one_map());
  EXPECT_EQ(found.scores.size(), 10u);
  EXPECT_EQ(found.head.tree.size(), 1u);

  const reference::Tensor x = as_reference(tensor);
  const reference::Levels one = {{{0}}};
  DoubleMatrix query = reference::cosines(x, 1);
  DoubleMatrix key = reference::cosines(x, 2);
  for (int i = 0; i < 10; ++i) {
    query = reference::affinity_of(reference::emd(x, 1, one, test::levels_of(reference::flexible_tree(key)), 1, 0), 1);
    key = reference::affinity_of(reference::emd(x, 2, one, test::levels_of(reference::flexible_tree(query)), 1, 0), 1);
  }
  expect_near(found.query.affinity, query, 1e-5);
  expect_near(found.key.affinity, key, 1e-5);
  EXPECT_EQ(found.query.tree, reference::flexible_tree(query));
  EXPECT_EQ(found.key.tree, reference::flexible_tree(key));
}

TEST(Questionnaire, MakesBinaryTreesOnRequest) {
  const HiddenTensor hidden({16, 16, 16}, 2, 0.7, 0.01, 8);
  const Organization found = organize(hidden.tensor(), {.tree = TreeKind::kBinary});
  for (const TensorAxis axis : kTensorAxes) {
    const PartitionTree& tree = found.axis(axis).tree;
    for (std::size_t level = 0; level + 1 < tree.level_count(); ++level) {
      for (const auto& folder : tree.folders(level)) EXPECT_LE(folder.child_count(), 2u);
    }
  }
}

TEST(Questionnaire, GivesTheSameForAnyNumberOfThreadsAndAnyBudgetThatIsEnough) {
  const HiddenTensor hidden({20, 40, 70}, 3, 0.7, 0.1, 9);
  const NetworkTensor tensor = hidden.tensor();
  const auto run = [&](std::size_t threads, std::size_t memory) {
    set_thread_count(threads);
    const Organization found = organize(tensor, {}, {.memory = memory});
    set_thread_count(0);
    std::vector<double> all(found.key.affinity.values().begin(), found.key.affinity.values().end());
    all.insert(all.end(), found.head.affinity.values().begin(), found.head.affinity.values().end());
    all.insert(all.end(), found.scores.begin(), found.scores.end());
    return all;
  };
  const auto expected = run(1, std::size_t{1} << 30);
  EXPECT_EQ(run(3, std::size_t{1} << 30), expected);
  EXPECT_EQ(run(2, std::size_t{16} << 20), expected);
  EXPECT_ERROR(run(2, 1 << 20), ErrorKind::kResource, "the budget is 1 MB");
}

TEST(Questionnaire, CopesWithDegenerateTensors) {
  const Extents shape = {4, 6, 5};
  for (const float value : {0.0F, 1.0F}) {
    const Organization found = organize(make_network_tensor(std::vector<float>(120, value), shape, {}, "x"));
    EXPECT_FALSE(found.notes.empty());
    EXPECT_EQ(found.head.tree.size(), 4u);
  }
  std::vector<float> one_hot(120, 0.0F);
  one_hot[17] = 1;
  EXPECT_EQ(organize(make_network_tensor(one_hot, shape, {}, "x")).query.tree.size(), 6u);
}

TEST(Questionnaire, ReportsProgressAndStopsWhenThatThrows) {
  const HiddenTensor hidden({8, 9, 10}, 2, 0.7, 0.1, 9);
  struct Stop {};
  double last = 0;
  bool ascending = true;
  Context context;
  context.on_progress = [&](std::string_view, double share) {
    ascending = ascending && share >= last;
    last = share;
  };
  static_cast<void>(organize(hidden.tensor(), {}, context));
  EXPECT_TRUE(ascending);
  EXPECT_EQ(last, 1);
  context.on_progress = [](std::string_view, double share) {
    if (share > 0.5) throw Stop();
  };
  EXPECT_THROW(static_cast<void>(organize(hidden.tensor(), {}, context)), Stop);
}

TEST(Questionnaire, RefusesOptionsThatMakeNoSense) {
  const NetworkTensor tensor = HiddenTensor({4, 4, 4}, 2, 0.7, 0.1, 9).tensor();
  EXPECT_ERROR(organize(tensor, {.iterations = 0}), ErrorKind::kInvalidArgument, "0 iterations");
  EXPECT_ERROR(organize(tensor, {.epsilon = 0}), ErrorKind::kInvalidArgument, "epsilon is 0");
  EXPECT_ERROR(organize(tensor, {.weights = {.alpha = NAN}}), ErrorKind::kInvalidArgument, "alpha is nan");
}

TEST(CosineAffinity, EqualsItsDefinition) {
  const Extents shape = {7, 70, 11};
  std::vector<float> values = test::normals(7 * 70 * 11, 1);
  for (std::size_t i = 0; i < 11; ++i) values[3 * 11 + i] = 0;
  for (const auto kind : {MaskChoice::Kind::kNone, MaskChoice::Kind::kZeros}) {
    NetworkTensorOptions options;
    options.mask.kind = kind;
    const NetworkTensor tensor = make_network_tensor(values, shape, options, "x");
    for (const TensorAxis axis : {TensorAxis::kQuery, TensorAxis::kKey}) {
      expect_near(cosine_affinity(tensor, axis),
                  reference::cosines(as_reference(tensor), static_cast<std::size_t>(axis)), 1e-6);
    }
  }
}

TEST(CosineAffinity, AnyNumberOfRanksGetsTheBitsOfOne) {
  for (const auto mask : {MaskChoice::Kind::kNone, MaskChoice::Kind::kCausal, MaskChoice::Kind::kZeros}) {
    const NetworkTensor tensor = test::random_tensor({7, 70, 40}, MapKind::kPattern, mask, 3);
    for (const TensorAxis axis : {TensorAxis::kQuery, TensorAxis::kKey}) {
      const DoubleMatrix alone = cosine_affinity(tensor, axis);
      for (const std::size_t size : {2U, 3U, 9U}) {
        test::on_shares(tensor, size, [&](const TensorShare& share) {
          const DoubleMatrix shared = cosine_affinity(share, axis);
          EXPECT_TRUE(std::ranges::equal(shared.values(), alone.values())) << "rank " << share.ranks().rank();
        });
      }
    }
  }
}

}  // namespace
}  // namespace headscope
