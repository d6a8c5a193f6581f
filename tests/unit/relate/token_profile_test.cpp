#include "headscope/relate/token_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "headscope/base/parallel.h"
#include "headscope/base/tails.h"
#include "support/expect_error.h"
#include "support/random.h"
#include "support/tiny_gpt2.h"

namespace headscope {
namespace {

using test::normals;
using test::SafetensorsWriter;
using test::TemporaryFolder;
using test::TinyGpt2;

constexpr std::size_t kWidth = 32;
constexpr std::size_t kTokens = 300;
// d * eps of float: products of unit vectors.
constexpr double kTolerance = kWidth * 1.2e-7;

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const std::vector<float>& values, std::size_t d) {
  Rows rows(values.size() / d);
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / d].push_back(static_cast<double>(values[i]));
  return rows;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void scale(std::vector<double>& a, double factor) {
  for (double& value : a) value *= factor;
}

// Gram and Schmidt, twice over.
Rows basis_of(const MatrixView& head) {
  Rows basis;
  for (std::size_t j = 0; j < head.columns(); ++j) {
    std::vector<double> column;
    for (std::size_t i = 0; i < head.rows(); ++i) column.push_back(static_cast<double>(head(i, j)));
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& other : basis) {
        const double along = dot(column, other);
        for (std::size_t i = 0; i < column.size(); ++i) column[i] -= along * other[i];
      }
    }
    scale(column, 1 / std::sqrt(dot(column, column)));
    basis.push_back(column);
  }
  return basis;
}

// The definition, word by word, in double.
std::vector<TokenScore> naive(const Rows& basis, Rows tokens, std::size_t top) {
  std::vector<double> mean(tokens.front().size());
  for (const auto& row : tokens) {
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += row[j];
  }
  scale(mean, 1 / static_cast<double>(tokens.size()));
  std::vector<TokenScore> scores;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (std::size_t j = 0; j < mean.size(); ++j) tokens[t][j] -= mean[j];
    double square = 0;
    for (const auto& direction : basis) square += std::pow(dot(direction, tokens[t]), 2);
    scores.push_back({t, std::sqrt(square / dot(tokens[t], tokens[t]))});
  }
  std::ranges::sort(scores, [](const auto& a, const auto& b) { return a.score > b.score; });
  scores.resize(std::min(top, scores.size()));
  return scores;
}

void expect_near(const std::vector<TokenScore>& found, const std::vector<TokenScore>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].token, expected[i].token) << "place " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, kTolerance) << "place " << i;
  }
}

auto ask(const Model& model, HeadRole subspace) {
  return token_profiles(model, std::vector{subspace});
}

// Two layers of four heads of width 8.
TinyGpt2 random_gpt2() {
  TinyGpt2 tiny;
  tiny.config = R"({"model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4})";
  tiny.shapes["transformer.wte.weight"] = {kTokens, kWidth};
  for (const std::string layer : {"transformer.h.0.", "transformer.h.1."}) {
    tiny.shapes[layer + "attn.c_attn.weight"] = {kWidth, 3 * kWidth};
    tiny.shapes[layer + "attn.c_proj.weight"] = {kWidth, kWidth};
    tiny.shapes[layer + "ln_1.weight"] = {kWidth};
  }
  std::uint64_t seed = 1;
  for (const auto& [name, shape] : tiny.shapes) tiny.values[name] = normals(*element_count(shape), seed++);
  return tiny;
}

class TokenProfiles : public testing::Test {
 protected:
  Model open() const {
    tiny_.write(folder_);
    return Model::open(folder_.path());
  }
  std::vector<float>& embedding() { return tiny_.values["transformer.wte.weight"]; }

  TinyGpt2 tiny_ = random_gpt2();
  const TemporaryFolder folder_;
  const std::vector<HeadRole> some_ = {{{1, 3}, Role::kO}, {{0, 2}, Role::kK}, {{1, 0}, Role::kO}, {{0, 0}, Role::kQ},
                                       {{0, 2}, Role::kV}, {{1, 3}, Role::kO}, {{0, 1}, Role::kK}};
};

TEST_F(TokenProfiles, EqualTheDefinitionInDoubleForEveryRoleAndProcessing) {
  const Model model = open();
  for (const WeightProcessing weights : {WeightProcessing::kRaw, WeightProcessing::kFolded}) {
    const auto profiles = token_profiles(model, some_, {.weights = weights});
    ASSERT_EQ(profiles.size(), some_.size());
    for (std::size_t i = 0; i < some_.size(); ++i) {
      EXPECT_EQ(profiles[i].subspace, some_[i]);
      EXPECT_EQ(profiles[i].rank, 8u);
      const HeadWeights heads = model.load_heads(some_[i].head.layer, some_[i].role, weights);
      expect_near(profiles[i].top, naive(basis_of(heads.head(some_[i].head.head)), rows_of(embedding(), kWidth), 10));
    }
  }
}

// Benjamini and Hochberg over all tokens, whatever is listed.
TEST_F(TokenProfiles, HaveTheSignificanceOfARandomDirection) {
  for (std::size_t j = 0; j < kWidth; ++j) embedding()[7 * kWidth + j] *= 1e-3F;  // must not matter
  const Model model = open();
  const auto all = token_profiles(model, some_, {.top = kTokens});
  const auto few = token_profiles(model, some_, {.top = 10});
  std::size_t below = 0;
  for (std::size_t s = 0; s < some_.size(); ++s) {
    double least = 1;
    for (std::size_t i = kTokens; i-- > 0;) {
      const TokenScore& token = all[s].top[i];
      const double log_p = log_beta_upper_tail(token.score * token.score, 8 / 2.0, (kWidth - 8) / 2.0);
      EXPECT_NEAR(token.log10_p, log_p / std::log(10), 1e-5);
      least = std::min(least, std::exp(log_p) * static_cast<double>(kTokens) / static_cast<double>(i + 1));
      EXPECT_NEAR(token.q, least, 1e-4 * least);
      if (i < 10) {
        EXPECT_NEAR(few[s].top[i].q, token.q, 1e-12);
      }
      below += token.log10_p < std::log10(0.05) ? 1 : 0;
    }
  }
  const double share = static_cast<double>(below) / static_cast<double>(kTokens * some_.size());
  EXPECT_NEAR(share, 0.05, 0.025);  // tokens are random; subspaces share them
}

TEST_F(TokenProfiles, OfATokenInsideTheSubspaceAreSignificant) {
  const Model model = open();
  const HeadWeights heads = model.load_heads(1, Role::kO);
  const std::span<const float> column = heads.columns(3).first(kWidth);
  // Three times as long as the other rows, so that it hardly changes when the mean is subtracted.
  const double length = std::sqrt(std::inner_product(column.begin(), column.end(), column.begin(), 0.0));
  const auto factor = static_cast<float>(3 * std::sqrt(kWidth) / length);
  for (std::size_t j = 0; j < kWidth; ++j) embedding()[5 * kWidth + j] = factor * column[j];
  const Model changed = open();
  const TokenProfile profile = ask(changed, {{1, 3}, Role::kO}).front();
  EXPECT_EQ(profile.top[0].token, 5u);
  EXPECT_LT(profile.top[0].log10_p, -30);
  EXPECT_TRUE(std::isfinite(profile.top[0].log10_p));
  EXPECT_LT(profile.top[0].q, 1e-12);
}

TEST_F(TokenProfiles, DoNotDependOnBlocksOrTheMemoryBudget) {
  const Model model = open();
  EXPECT_TRUE(token_profiles(model, {}).empty());
  EXPECT_EQ(token_profiles(model, some_, {.top = 1000})[0].top.size(), kTokens);
  const auto whole = token_profiles(model, some_, {.top = 40});
  const std::size_t two_bases = 2 * kWidth * 8 * sizeof(float);
  for (const std::size_t memory : {std::size_t{1}, two_bases, std::size_t{1} << 30}) {
    for (const std::size_t block : {1U, 7U, 150U, 299U, 300U, 301U}) {
      const auto parts = token_profiles(model, some_, {.top = 40, .block = block}, {.memory = memory});
      for (std::size_t i = 0; i < some_.size(); ++i) expect_near(parts[i].top, whole[i].top);
    }
  }
}

TEST_F(TokenProfiles, HaveTheSameBitsOnAnyNumberOfThreads) {
  // More rows than one strip of the mean.
  tiny_.shapes["transformer.wte.weight"] = {5000, kWidth};
  embedding() = normals(5000 * kWidth, 7);
  const Model model = open();
  set_thread_count(1);
  const auto one = token_profiles(model, some_);
  set_thread_count(3);
  const auto three = token_profiles(model, some_);
  set_thread_count(0);
  for (std::size_t i = 0; i < some_.size(); ++i) EXPECT_EQ(one[i].top, three[i].top);
}

TEST_F(TokenProfiles, ScoreTokensInsideTheSubspaceWithOne) {
  // Opposite pairs, so that the mean is zero; the last two pairs are what head 2 of layer 0 writes.
  const auto& o = tiny_.values["transformer.h.0.attn.c_proj.weight"];
  std::vector<float> rows;
  for (std::size_t pair = 0; pair < 150; ++pair) {
    for (const float sign : {1.0F, -1.0F}) {
      for (std::size_t j = 0; j < kWidth; ++j) {
        const float written = o[(16 + pair % 8) * kWidth + j] + 2 * o[23 * kWidth + j];
        rows.push_back(sign * (pair < 148 ? embedding()[pair * kWidth + j] : written));
      }
    }
  }
  embedding() = rows;
  const std::vector<HeadRole> writer = {{{0, 2}, Role::kO}};
  const auto profile = token_profiles(open(), writer, {.weights = WeightProcessing::kRaw, .top = 5})[0];
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(profile.top[i].token, kTokens - 4);
    EXPECT_NEAR(profile.top[i].score, 1, kTolerance);
  }
  EXPECT_LT(profile.top[4].score, 0.99);
}

TEST_F(TokenProfiles, ScoreTheMeanWithZeroAndBreakTiesById) {
  embedding().assign(kTokens * kWidth, 0.1F);
  const auto equal = token_profiles(open(), some_, {.top = 3})[0];
  EXPECT_EQ(equal.top, (std::vector<TokenScore>{{0, 0}, {1, 0}, {2, 0}}));
  // Large and small rows that cancel: the sum keeps a rest of the order of 1e-17 where the last row is 0.
  tiny_.shapes["transformer.wte.weight"] = {5, kWidth};
  const auto rows = normals(2 * kWidth, 8);
  embedding().assign(5 * kWidth, 0);
  for (std::size_t i = 0; i < 2 * kWidth; ++i) {
    embedding()[i] = i < kWidth ? rows[i] : 1e-9F * rows[i];
    embedding()[2 * kWidth + i] = -embedding()[i];
  }
  const auto canceled = token_profiles(open(), some_)[0];
  EXPECT_GT(canceled.top[3].score, 0);
  EXPECT_EQ(canceled.top[4], (TokenScore{4, 0}));
}

TEST_F(TokenProfiles, GiveAPrunedHeadRankAndScoresZero) {
  auto& o = tiny_.values["transformer.h.1.attn.c_proj.weight"];
  std::fill_n(o.begin() + 3 * 8 * kWidth, 8 * kWidth, 0.0F);
  const auto profiles = token_profiles(open(), some_);
  EXPECT_EQ(profiles[0].rank, 0u);
  EXPECT_EQ(profiles[0].top[0], (TokenScore{0, 0}));
  EXPECT_EQ(profiles[2].rank, 8u);
  EXPECT_GT(profiles[2].top[9].score, 0);
}

TEST_F(TokenProfiles, LeavePaddingOutOfTheRankingAndTheMean) {
  const auto padded = token_profiles(open(), some_, {.vocabulary_size = 290});
  tiny_.shapes["transformer.wte.weight"] = {290, kWidth};
  embedding().resize(290 * kWidth);
  const auto exact = token_profiles(open(), some_, {.vocabulary_size = 1000});
  for (std::size_t i = 0; i < some_.size(); ++i) EXPECT_EQ(padded[i].top, exact[i].top);
}

TEST_F(TokenProfiles, ReportProgressUpToTheEndAndStopWhenItThrows) {
  const Model model = open();
  double last = 0;
  Context context;
  context.memory = 1;
  context.on_progress = [&](std::string_view, double share) {
    EXPECT_GT(share, last);
    last = share;
  };
  (void)token_profiles(model, some_, {.block = 100}, context);
  EXPECT_EQ(last, 1);
  context.on_progress = [](std::string_view, double) { throw 1; };
  EXPECT_THROW((void)token_profiles(model, some_, {}, context), int);
}

TEST_F(TokenProfiles, RefuseWhatIsNotThere) {
  const Model model = open();
  EXPECT_ERROR(ask(model, {{2, 0}, Role::kQ}), ErrorKind::kInvalidArgument,
               "L2H0 requested, but the model has 2 layers of 4");
  EXPECT_ERROR(ask(model, {{0, 4}, Role::kQ}), ErrorKind::kInvalidArgument, "L0H4 requested");
  EXPECT_ERROR(ask(model, {{0, 1, true}, Role::kK}), ErrorKind::kInvalidArgument, "such as L0H1");
}

TEST_F(TokenProfiles, RefuseAVocabularyThatIsNotUsable) {
  embedding()[4 * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
  embedding()[250 * kWidth] = std::numeric_limits<float>::infinity();
  EXPECT_ERROR(token_profiles(open(), some_), ErrorKind::kNumeric,
               "'transformer.wte.weight' holds NaN or Inf at index [4, 5]");
  tiny_.shapes["transformer.wte.weight"] = {kTokens, 16};  // as OPT-350m has it
  embedding().resize(kTokens * 16);
  EXPECT_ERROR(token_profiles(open(), some_), ErrorKind::kUnsupported,
               "is [300, 16], but token profiles need rows as wide as the residual stream, 32");
  tiny_.shapes.erase("transformer.wte.weight");
  EXPECT_ERROR(token_profiles(open(), some_), ErrorKind::kUnsupported, "has no unembedding to profile tokens with");
}

// A Llama of one layer, four query heads and two KV heads of width 6; embedding and unembedding in BF16 and apart.
class GroupedTokenProfiles : public testing::Test {
 protected:
  static constexpr std::size_t kD = 24;
  static constexpr std::size_t kH = 6;

  // Cuts values to BF16, as the file stores them.
  static std::string narrow(std::vector<float>& values) {
    std::string raw;
    for (float& value : values) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U;
      value = std::bit_cast<float>(bits);
      raw += {static_cast<char>(bits >> 16), static_cast<char>(bits >> 24)};
    }
    return raw;
  }
  Model open() {
    SafetensorsWriter writer;
    writer.add("model.layers.0.self_attn.q_proj.weight", {4 * kH, kD}, normals(4 * kH * kD, 1))
        .add("model.layers.0.self_attn.k_proj.weight", {2 * kH, kD}, normals(2 * kH * kD, 2))
        .add("model.layers.0.self_attn.v_proj.weight", {2 * kH, kD}, normals(2 * kH * kD, 3))
        .add("model.layers.0.self_attn.o_proj.weight", {kD, 4 * kH}, normals(4 * kH * kD, 4))
        .add("model.layers.0.input_layernorm.weight", {kD}, normals(kD, 5))
        .add_raw("model.embed_tokens.weight", "BF16", {200, kD}, narrow(embedding_))
        .add_raw("lm_head.weight", "BF16", {200, kD}, narrow(unembedding_));
    folder_.write("config.json", R"({"model_type": "llama", "hidden_size": 24, "num_hidden_layers": 1,
                                     "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6})");
    folder_.write("model.safetensors", writer.str());
    return Model::open(folder_.path());
  }

  const TemporaryFolder folder_;
  std::vector<float> embedding_ = normals(200 * kD, 6);
  std::vector<float> unembedding_ = normals(200 * kD, 7);
};

TEST_F(GroupedTokenProfiles, TakeKeyValueHeadsAndEitherMatrix) {
  const Model model = open();
  const std::vector<HeadRole> asked = {{{0, 1, true}, Role::kK}, {{0, 3}, Role::kQ}, {{0, 0, true}, Role::kV}};
  for (const TokenMatrix matrix : {TokenMatrix::kUnembedding, TokenMatrix::kEmbedding}) {
    const auto profiles = token_profiles(model, asked, {.matrix = matrix, .block = 64});
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const HeadWeights heads = model.load_heads(0, asked[i].role);
      const auto& rows = matrix == TokenMatrix::kEmbedding ? embedding_ : unembedding_;
      expect_near(profiles[i].top, naive(basis_of(heads.head(asked[i].head.head)), rows_of(rows, kD), 10));
    }
  }
}

TEST_F(GroupedTokenProfiles, RefuseAQueryHeadsKeyAndAKeyValueHeadsQuery) {
  const Model model = open();
  EXPECT_ERROR(ask(model, {{0, 3}, Role::kK}), ErrorKind::kInvalidArgument,
               "role K of head L0H3 requested, but it shares its K with L0KV1");
  EXPECT_ERROR(ask(model, {{0, 1, true}, Role::kO}), ErrorKind::kInvalidArgument, "such as L0H1");
  EXPECT_ERROR(ask(model, {{0, 2, true}, Role::kV}), ErrorKind::kInvalidArgument, "1 layers of 2 KV heads");
}

}  // namespace
}  // namespace headscope
