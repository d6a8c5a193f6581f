#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// A subspace of a head. With grouped queries, K and V belong to KV heads.
struct HeadRole {
  HeadId head;
  Role role = Role::kO;

  friend bool operator==(const HeadRole&, const HeadRole&) = default;
};

struct TokenScore {
  std::size_t token = 0;  ///< Token id: the row of the (un)embedding.
  double score = 0;       ///< ||U^T e_t||, the cosine of the angle to the subspace, in [0, 1] up to rounding.
  /// Logarithm of the probability that a random direction scores at least as much.
  double log10_p = 0;
  double q = 1;  ///< Benjamini-Hochberg q-value over the vocabulary.

  friend bool operator==(const TokenScore&, const TokenScore&) = default;
};

/// The tokens closest to a head's subspace.
struct TokenProfile {
  HeadRole subspace;
  std::size_t rank = 0;              ///< Of the subspace. If it is 0, all scores are 0.
  std::vector<TokenScore> top = {};  ///< Best first; ties are ordered by id.
};

enum class TokenMatrix { kUnembedding, kEmbedding };

struct TokenProfileOptions {
  WeightProcessing weights = WeightProcessing::kFolded;  ///< Of the heads; token rows are used as stored.
  TokenMatrix matrix = TokenMatrix::kUnembedding;
  std::size_t top = 10;
  /// Number of rows that are tokens, e.g. `Vocabulary::size()`: many models pad their embedding to a round number of
  /// rows. 0 means all rows.
  std::size_t vocabulary_size = 0;
  std::size_t block = 2048;  ///< Tokens per block; at least 1.
};

/// Returns, for every requested subspace and in that order, the tokens t with the largest ||U^T e_t||, where e_t = (w_t
/// - mean w) / ||w_t - mean w||, w_t is the token's row and U an orthonormal basis. A token equal to the mean scores 0.
///
/// Significance: if e_t is a random direction in R^d, ||U^T e_t||^2 ~ Beta(p/2, (d - p)/2) with p the rank, whatever
/// the subspace is. d is not reduced by one for subspaces that are orthogonal to the all-ones vector: e_t is centered
/// over tokens, not over its components. A score of 1 counts as 1 - 2^-23, its rounding. The q-value of the r-th best
/// of T tokens is min over s >= r of p_s T / s, over all tokens, not only the listed ones.
///
/// Streams over the vocabulary. Memory: the bases, the score of every token, one block of tokens as floats, and `top`
/// tokens per subspace. Bases and scores count against the budget. If they do not fit, they are split into parts, and
/// the vocabulary is read again for each part. Not collective: `context.ranks` is not used. The result does not depend
/// on the number of threads. Cost: 2 d h flops per token and subspace, in float, after one pass over the vocabulary for
/// the mean.
///
/// \throws Error  kInvalidArgument if a head does not exist or has no matrix of its own for the role; kUnsupported if
///                the model does not have the token matrix, its rows are not d_model wide (OPT with
///                word_embed_proj_dim) or it has block scales; kNumeric if it holds NaN or infinity, with the index;
///                kNumeric and kFormat as `Model::load_heads`.
[[nodiscard]] std::vector<TokenProfile> token_profiles(const Model& model, std::span<const HeadRole> subspaces,
                                                       const TokenProfileOptions& options = {},
                                                       const Context& context = {});

}  // namespace headscope
