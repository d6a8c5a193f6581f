#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/io/stored_tensor.h"
#include "headscope/model/block.h"
#include "headscope/model/family.h"
#include "headscope/model/head_map.h"
#include "headscope/model/rotary.h"

namespace headscope {

/// y = x W^T + b, with the tensors as stored in the file.
struct StoredLinear {
  const StoredTensor* weight = nullptr;
  const StoredTensor* bias = nullptr;  ///< nullptr if there is none.
  Storage storage = Storage::kOutIn;

  [[nodiscard]] std::size_t in() const { return weight->shape[storage == Storage::kOutIn ? 1 : 0]; }
  [[nodiscard]] std::size_t out() const { return weight->shape[storage == Storage::kOutIn ? 0 : 1]; }
};

/// (x - mean) / sqrt(var + epsilon) * gain + bias, or x / sqrt(mean x^2 + epsilon) * gain.
struct StoredNorm {
  NormKind kind = NormKind::kLayerNorm;
  const StoredTensor* gain = nullptr;  ///< nullptr: 1. For norms of heads [h], or [heads, h].
  const StoredTensor* bias = nullptr;
  std::vector<const StoredTensor*> other_gains = {};  ///< Of the heads after the first, if each has a tensor.
  float offset = 0;                                   ///< Added to the stored gain.
  double epsilon = 0;
};

/// One layer: the tensors it reads, in order of use.
struct NetworkLayer {
  Block block = Block::kOnly;
  bool causal = true;
  bool has_mlp = true;                 ///< The self-attention of a decoder has none: cross-attention comes first.
  std::optional<StoredNorm> norm;      ///< Before attention.
  std::array<StoredLinear, 4> linear;  ///< Indexed by Role; in fused families Q, K and V name the same tensor.
  std::array<HeadSlice, 4> slices;     ///< Location of each role's heads in the output of `linear`.
  std::optional<StoredNorm> q_norm;    ///< Over the components of a head, or of all heads (`joint_head_norms`).
  std::optional<StoredNorm> k_norm;
  std::optional<StoredLinear> relative_key;  ///< From relative positions to what queries are compared with, all heads.
  std::optional<StoredLinear> relative_query;   ///< The same for keys.
  const StoredTensor* content_bias = nullptr;   ///< Added to queries that are compared with keys ...
  const StoredTensor* position_bias = nullptr;  ///< ... and with relative positions.
  std::optional<StoredNorm> norm_after_attention;
  const StoredTensor* attention_scale = nullptr;
  std::optional<StoredNorm> mlp_norm;
  StoredLinear up;
  std::optional<StoredLinear> gate;
  bool gate_in_up = false;  ///< The first half of the output of `up` is the gate.
  StoredLinear down;
  std::optional<StoredNorm> norm_after_mlp;
  const StoredTensor* mlp_scale = nullptr;
  std::size_t window = 0;  ///< Number of tokens a query sees, itself included; 0: all.
  bool rotary = true;      ///< Whether queries and keys are rotated, if the model has rotary positions.
  bool local_rotary = false;
  float score_scale = 1;
};

/// What is added to the scaled scores by head and distance.
struct ScoreBias {
  std::vector<float> slopes;            ///< ALiBi: the bias is -slope * |distance|, by head.
  const StoredTensor* table = nullptr;  ///< Else the rows of this table, one per bucket of distances; nullptr: none.
  std::size_t max_distance = 128;       ///< Larger distances share a bucket.

  [[nodiscard]] bool empty() const noexcept { return slopes.empty() && table == nullptr; }
};

/// Relative positions that queries and keys are compared with, in a table with one row per bucket of distances.
struct RelativePositions {
  const StoredTensor* table = nullptr;  ///< [2 * span, d_model]; nullptr if there is none.
  bool sinusoidal = false;              ///< The table has sines and cosines of each distance back.
  std::optional<StoredNorm> norm;       ///< Of its rows.
  std::size_t span = 0;                 ///< The row of distance 0; the farthest distances share the first or last row.
  std::size_t buckets = 0;              ///< Distances from half of this on share buckets; 0: each has its own.
  std::size_t longest = 0;              ///< The distance at which the buckets end; sinusoidal: the largest, 0 for any.

  [[nodiscard]] bool empty() const noexcept { return table == nullptr && !sinusoidal; }
};

/// Some of the tokens' embeddings, narrower than the stream, and their projection to it.
struct EmbeddingTable {
  const StoredTensor* rows = nullptr;        ///< [tokens, width]
  const StoredTensor* projection = nullptr;  ///< [d_model, width]; nullptr if the width is d_model.
};

/// How tokens or patches enter the residual stream.
struct NetworkInput {
  const StoredTensor* embedding = nullptr;
  std::vector<EmbeddingTable> tables;  ///< Of consecutive tokens, the first being `embedding`; empty if that has all.
  float embedding_scale = 1;
  std::optional<StoredLinear> project;
  bool narrow = false;  ///< Positions, token types and the norm come before `project`.
  /// ESM's token dropout: the id that embeds as 0.
  std::optional<std::size_t> dropped_token;
  const StoredTensor* positions = nullptr;
  std::size_t position_offset = 0;
  std::size_t sinusoids = 0;           ///< Number of positions with sines and cosines of fixed frequencies; 0: none.
  std::optional<std::size_t> padding;  ///< RoBERTa: tokens with this id do not count as positions.
  const StoredTensor* token_types = nullptr;
  StoredLinear patches;                      ///< Weight [d_model, channels, patch, patch].
  std::vector<StoredLinear> convolutions;    ///< Of audio features, weights [d_model, channels, width]; each but the
                                             ///< first has stride 2.
  std::vector<const StoredTensor*> leading;  ///< Tokens before the patches, [.., k, d_model].
  const StoredTensor* registers = nullptr;
  bool interpolate = false;
  std::optional<StoredNorm> norm;
  std::size_t image_height = 0;  ///< Image size that the table of positions is for; 0 if the files do not say.
  std::size_t image_width = 0;
};

/// How the residual stream becomes the output.
struct NetworkOutput {
  std::optional<StoredNorm> norm;
  std::optional<StoredLinear> project;
  std::optional<StoredLinear> transform;  ///< BERT: linear, activation, norm before the unembedding.
  Activation transform_activation = Activation::kGelu;
  std::optional<StoredNorm> transform_norm;
  std::optional<StoredLinear> unembedding;
  std::vector<StoredLinear> classifiers;  ///< Image classifiers: one, or two whose outputs are averaged.
  Pooling pooling = Pooling::kFirst;
  float logit_factor = 1;
  float logit_cap = 0;  ///< 0: none.
};

/// Everything a forward pass needs to know about a model: which tensors it reads, and the settings from its
/// configuration. Points into the Model it was resolved from, which must outlive it.
struct Network {
  NormOrder order = NormOrder::kPre;
  bool parallel = false;  ///< Attention and MLP read the same stream.
  bool causal = true;
  Activation activation = Activation::kGelu;
  float score_cap = 0;            ///< 0: none.
  float clip = 0;                 ///< Limit of the absolute values of queries, keys and values; 0: none.
  float branch_factor = 1;        ///< On the outputs of attention and MLP, before they are added to the stream.
  bool joint_head_norms = false;  ///< q_norm and k_norm are over all heads together.
  ScoreBias bias;
  RelativePositions relative;
  double query_growth = 0;  ///< Queries are multiplied by 1 + this * ln(1 + floor(position / `query_period`)).
  double query_period = 1;
  /// Why edges between heads cannot be cut, although the model can be run; empty if they can.
  std::string no_patch;
  Rotary rotary;        ///< Width 0: none.
  Rotary local_rotary;  ///< For layers with `local_rotary`.
  NetworkInput input;
  std::vector<NetworkLayer> layers;  ///< In the order of `HeadSizes`.
  /// Of a model with an encoder and a decoder: what the decoder reads, the norm at the end of the encoder, and the bias
  /// of the decoder's self-attention. Cross-attention has no bias.
  std::optional<NetworkInput> target;
  std::optional<StoredNorm> memory_norm;
  ScoreBias target_bias;
  NetworkOutput output;
};

class Model;

/// Finds the tensors and settings of the model's forward pass.
/// \throws Error  kUnsupported if the family, or this member of it, has no forward pass here; kFormat if a tensor is
///                missing or has a wrong shape, or if the configuration contradicts itself.
[[nodiscard]] Network resolve_network(const Model& model);

/// \throws Error  kUnsupported if edges between the model's heads cannot be cut.
void require_patchable(const Model& model, const Network& network);

}  // namespace headscope
