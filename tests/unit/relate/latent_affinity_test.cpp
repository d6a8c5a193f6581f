// Affinities where roles differ in width, where heads share a key, and where layers share keys and values, against
// naive computations on the loaded matrices.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/affinity.h"
#include "headscope/relate/overlap.h"
#include "headscope/relate/relate.h"
#include "headscope/relate/token_profile.h"
#include "support/expect_error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

const fs::path kFamilies = fs::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/families";

// Columns of d numbers each.
struct Columns {
  std::size_t d = 0;
  std::vector<double> values = {};

  [[nodiscard]] std::size_t count() const { return values.size() / d; }
};

Columns columns_of(const HeadWeights& heads, std::size_t head) {
  const auto values = heads.columns(head);
  return {heads.d_model(), {values.begin(), values.end()}};
}

Columns basis_of(const HeadWeights& heads, std::size_t head) {
  Columns basis{heads.d_model(), std::vector<double>(heads.columns(head).size())};
  const std::size_t rank =
      orthonormal_basis(heads.columns(head), basis.d, heads.d_head(), 1e-6, std::span(basis.values));
  basis.values.resize(rank * basis.d);
  return basis;
}

// ||A^T B||_F^2
double squares(const Columns& a, const Columns& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.count(); ++i) {
    for (std::size_t j = 0; j < b.count(); ++j) {
      double dot = 0;
      for (std::size_t k = 0; k < a.d; ++k) dot += a.values[i * a.d + k] * b.values[j * b.d + k];
      sum += dot * dot;
    }
  }
  return sum;
}

// A B^T, d x d, as columns.
Columns product(const Columns& a, const Columns& b) {
  Columns result{a.d, std::vector<double>(a.d * a.d)};
  for (std::size_t i = 0; i < a.count(); ++i) {
    for (std::size_t column = 0; column < a.d; ++column) {
      for (std::size_t row = 0; row < a.d; ++row) {
        result.values[column * a.d + row] += a.values[i * a.d + row] * b.values[i * a.d + column];
      }
    }
  }
  return result;
}

double norm(const Columns& a) {
  double sum = 0;
  for (const double value : a.values) sum += value * value;
  return std::sqrt(sum);
}

Affinities only(const Model& model, Metric metric, RolePair pair, const AffinityOptions& options = {}) {
  return compute_affinities(model, metric, std::span(&pair, 1), options).value().front();
}

class LatentAffinity : public testing::TestWithParam<std::string> {
 protected:
  const Model model_ = Model::open(kFamilies / GetParam());
};

TEST_P(LatentAffinity, ComparesRolesOfDifferentWidth) {
  for (const Role target : {Role::kQ, Role::kK, Role::kV, Role::kO}) {
    const Affinities found = only(model_, Metric::kPk, {Role::kO, target});
    for (std::size_t i = 0; i < found.source.heads.size(); ++i) {
      const HeadId source = found.source.heads[i];
      const Columns o = basis_of(model_.load_heads(source.layer, Role::kO), source.head);
      for (std::size_t j = 0; j < found.target.heads.size(); ++j) {
        const HeadId id = found.target.heads[j];
        const Columns read = basis_of(model_.load_heads(id.layer, target), id.head);
        EXPECT_EQ(found.target.ranks[j], read.count());
        EXPECT_NEAR(found.values(i, j), squares(o, read), 1e-5) << letter(target) << i << " " << j;
      }
    }
  }
}

// The key of the whole product is the head's own, then the shared one.
TEST_P(LatentAffinity, ComposesWithTheWholeKey) {
  for (const Role target : {Role::kQ, Role::kK}) {
    const Affinities found = only(model_, Metric::kCs, {Role::kO, target});
    const HeadWeights writes = model_.load_heads(0, Role::kO);
    const HeadWeights values = model_.load_heads(0, Role::kV);
    const HeadWeights queries = model_.load_heads(1, Role::kQ);
    const HeadWeights keys = model_.load_heads(1, Role::kK);
    const Columns shared = columns_of(model_.load_rotary_key(1), 0);
    const std::size_t heads = writes.heads();
    for (std::size_t i = 0; i < heads; ++i) {
      const Columns written = product(columns_of(writes, i), columns_of(values, i));
      for (std::size_t j = 0; j < heads; ++j) {
        Columns key = columns_of(keys, j);
        key.values.insert(key.values.end(), shared.values.begin(), shared.values.end());
        const Columns query = columns_of(queries, j);
        ASSERT_EQ(key.count(), query.count());
        // R W with R = Q K^T for what the query reads, K Q^T for what the key reads; W = O V^T.
        const Columns reads = target == Role::kQ ? product(query, key) : product(key, query);
        // ||reads^T written||_F
        const double expected = std::sqrt(squares(reads, written)) / (norm(reads) * norm(written));
        EXPECT_NEAR(found.values(i, heads + j), expected, 1e-5) << letter(target) << i << " " << j;
      }
    }
  }
}

TEST_P(LatentAffinity, ComparesTheSharedKeyByItself) {
  const RolePair pair{Role::kO, Role::kK};
  const auto heads = compute_affinities(model_, Metric::kPk, std::span(&pair, 1)).value();
  const Overlaps found = compute_overlaps(model_, {.rotary_key = true}, heads);
  EXPECT_TRUE(found.warnings.empty());
  const auto scores = std::ranges::find_if(found.scores, [&](const auto& one) { return found.pair_name(one) == "OR"; });
  ASSERT_NE(scores, found.scores.end());
  const auto& targets = found.targets[scores->target];
  ASSERT_EQ(targets.nodes.size(), model_.info().sizes.layers);
  EXPECT_EQ(to_string(targets.nodes[1]), "L1R");
  EXPECT_EQ(targets.columns[1], model_.info().sizes.d_rotary);
  const Columns shared = columns_of(model_.load_rotary_key(1), 0);
  for (std::size_t i = 0; i < model_.info().sizes.heads; ++i) {
    const Columns o = basis_of(model_.load_heads(0, Role::kO), i);
    const double share = squares(o, shared) / (norm(shared) * norm(shared)) / static_cast<double>(o.count());
    EXPECT_NEAR(scores->overlap(i, 1), share * static_cast<double>(o.d), 1e-5) << i;
    EXPECT_TRUE(std::isnan(scores->overlap(i, 0)));  // not later
  }
}

TEST_P(LatentAffinity, RunsAsAWhole) {
  RelateOptions options;
  options.pairs = {{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kV, Role::kQ}};
  options.metrics = {Metric::kPk, Metric::kCka, Metric::kGrassmann, Metric::kRopeCs};
  const RelateResult result = relate(model_, options).value();
  EXPECT_EQ(result.affinities.size(), 3u * 3 + 2);  // rope-cs is not defined for VQ
  for (const Affinities& one : result.affinities) {
    for (const float value : one.values.values()) EXPECT_TRUE(std::isfinite(value)) << info(one.metric).name;
  }
  for (const HeadRole& one : all_subspaces(result, model_.info().sizes)) {
    const auto profiles = token_profiles(model_, std::span(&one, 1));
    // A head's space has no more dimensions than its latent.
    const LatentTensors& latent = *model_.head_map().layers.at(one.head.layer).latent;
    const std::size_t most = one.role == Role::kO || latent.of(one.role).rank == 0 ? 1000 : latent.of(one.role).rank;
    EXPECT_EQ(profiles.front().rank, std::min(model_.info().sizes.width(one.role), most)) << letter(one.role);
    EXPECT_FALSE(profiles.front().top.empty());
    for (const TokenScore& token : profiles.front().top) EXPECT_LE(token.score, 1 + 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, LatentAffinity, testing::Values("deepseek_v3", "deepseek_v3_plain"));

TEST(SharedKeyAffinity, CountsOnlyTheLayersThatOwnThem) {
  const Model model = Model::open(kFamilies / "gemma4");
  const Affinities found = only(model, Metric::kPk, {Role::kO, Role::kK}, {.weights = WeightProcessing::kRaw});
  ASSERT_EQ(found.target.heads.size(), 2u);
  EXPECT_EQ(to_string(found.target.heads[0]), "L0KV0");
  EXPECT_EQ(to_string(found.target.heads[1]), "L1KV0");
  EXPECT_EQ(found.source.heads.size(), 8u);
  for (std::size_t i = 0; i < found.source.heads.size(); ++i) {
    const HeadId id = found.source.heads[i];
    const Columns o = basis_of(model.load_heads(id.layer, Role::kO, WeightProcessing::kRaw), id.head);
    for (std::size_t j = 0; j < 2; ++j) {
      const Columns k = basis_of(model.load_heads(j, Role::kK, WeightProcessing::kRaw), 0);
      EXPECT_NEAR(found.values(i, j), squares(o, k), 1e-5) << i << " " << j;
    }
  }
}

TEST(SharedKeyAffinity, RunsAsAWhole) {
  for (const char* name : {"gemma4", "gemma4_keys", "gemma3n"}) {
    const Model model = Model::open(kFamilies / name);
    RelateOptions options;
    options.metrics = {Metric::kPk, Metric::kGrassmann};
    const RelateResult result = relate(model, options).value();
    EXPECT_EQ(result.affinities.size(), 6u);
    for (const Affinities& one : result.affinities) {
      for (const float value : one.values.values()) EXPECT_TRUE(std::isfinite(value)) << name;
    }
  }
}

TEST(SharedKeyAffinity, RefusesProductsOfALayersOwnMatrices) {
  const Model model = Model::open(kFamilies / "gemma4");
  EXPECT_ERROR(only(model, Metric::kCs, {Role::kO, Role::kQ}), ErrorKind::kInvalidArgument,
               "the queries of layer 2 use the keys and values of layer 0");
}

}  // namespace
}  // namespace headscope
