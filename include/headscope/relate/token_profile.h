#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "headscope/linalg/block_norms.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"

namespace headscope {

/// One of a head's subspaces. K and V of grouped queries belong to KV heads.
struct HeadRole {
  HeadId head;
  Role role = Role::kO;

  friend bool operator==(const HeadRole&, const HeadRole&) = default;
};

struct TokenScore {
  std::size_t token = 0;  ///< Its id: the row of the (un)embedding.
  double score = 0;       ///< ||U^T e_t||, the cosine of the angle to the subspace, in [0, 1] up to rounding.

  friend bool operator==(const TokenScore&, const TokenScore&) = default;
};

/// The tokens closest to a head's subspace.
struct TokenProfile {
  HeadRole subspace;
  std::size_t rank = 0;              ///< Of the subspace; all scores are 0 where it is 0.
  std::vector<TokenScore> top = {};  ///< Best first, equal scores by id.
};

enum class TokenMatrix { kUnembedding, kEmbedding };

struct TokenProfileOptions {
  WeightProcessing weights = WeightProcessing::kFolded;  ///< Of the heads; the tokens' rows are taken as stored.
  TokenMatrix matrix = TokenMatrix::kUnembedding;
  std::size_t top = 10;
  /// Only the first rows are tokens, e.g. `Vocabulary::size()`: many models pad their
  /// embedding to a round number of rows. All of them if 0.
  std::size_t vocabulary_size = 0;
  std::size_t block = 2048;  ///< Tokens that are compared at a time; at least 1.
  /// Bytes that the subspaces' bases may take. Where those asked for take more, the
  /// vocabulary is read again for each part of them that fits.
  std::size_t memory = std::size_t{1} << 30;
  /// Called now and then with the share of the work that is done, from the calling
  /// thread; may throw to stop.
  std::function<void(double)> progress = {};
};

/// For every subspace asked for, in that order, the tokens t with the largest ||U^T e_t||:
/// e_t = (w_t - mean w) / ||w_t - mean w||, w_t the token's row, U an orthonormal basis. A
/// token that is the mean itself scores 0.
///
/// Streams over the vocabulary: memory is the bases, one block of tokens as floats and
/// its scores, `top` tokens a subspace. The result does not depend on the number of
/// threads. Cost: 2 d h flops a token and subspace, in float, after one pass over the
/// vocabulary for the mean.
///
/// \throws Error  kInvalidArgument for a head that does not exist or has no matrix of its
///                own for the role; kUnsupported if the model has no such matrix of
///                tokens or its rows are not d_model wide (OPT with word_embed_proj_dim);
///                kNumeric if it holds a NaN or an infinity, with its index;
///                kNumeric and kFormat as `Model::load_heads`.
[[nodiscard]] std::vector<TokenProfile> token_profiles(const Model& model, std::span<const HeadRole> subspaces,
                                                       const TokenProfileOptions& options = {},
                                                       const BlockNorms& engine = *cpu_block_norms());

}  // namespace headscope
