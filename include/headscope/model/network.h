#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/io/stored_tensor.h"
#include "headscope/model/block.h"
#include "headscope/model/experts.h"
#include "headscope/model/family.h"
#include "headscope/model/head_map.h"
#include "headscope/model/rotary.h"
#include "headscope/model/stored_linear.h"

namespace headscope {

/// (x - mean) / sqrt(var + epsilon) * gain + bias, or x / sqrt(mean x^2 + epsilon) * gain.
struct StoredNorm {
  NormKind kind = NormKind::kLayerNorm;
  const StoredTensor* gain = nullptr;  ///< nullptr: 1. For norms of heads [h], or [heads, h].
  const StoredTensor* bias = nullptr;
  std::vector<const StoredTensor*> other_gains = {};  ///< Of the heads after the first, if each has a tensor.
  float offset = 0;                                   ///< Added to the stored gain.
  double epsilon = 0;
};

/// What latent attention computes before Q, K and V, whose `linear` then read a latent.
struct LatentProjections {
  std::optional<StoredLinear> q_down;  ///< nothing if Q reads the stream.
  std::optional<StoredNorm> q_norm;
  StoredLinear kv_down;  ///< The latent of K and V, then the rotary key that all heads share.
  StoredNorm kv_norm;
};

/// What a block adds to the stream after its MLP: norm(out(act(gate(x)) * e)), with e the token's input for the layer.
/// If there are side streams, it is added to these, and x is the stream times `scale`.
struct TokenInput {
  StoredLinear gate;
  StoredLinear out;
  StoredNorm norm;
  const StoredTensor* scale = nullptr;  ///< [d_model]; nullptr: 1.
};

/// How a block treats all streams (AltUp). Before it, each becomes a combination of all; after it, the change of the
/// main one is added to each, times a factor. Both depend on m = tanh(router(norm(x) / d_model)) of the main one.
struct StreamUpdate {
  StoredLinear router;
  StoredNorm router_norm;
  StoredLinear prediction;  ///< From m to the n x n coefficients that are added to the identity.
  StoredLinear correction;  ///< From m to the n factors, minus 1.
};

/// Streams that no branch reads. They begin as maps of the embedded tokens; maps of them are averaged with the main one
/// in the end. All of these maps keep the magnitude of the main stream.
struct SideStreams {
  std::vector<StoredLinear> in;
  std::vector<StoredLinear> out;
};

/// A branch beside attention, x + norm(out(in(x))) of what attention reads. The stream becomes (stream + branch) /
/// sqrt(2) after attention (Gemma 3n).
struct LowRankBranch {
  StoredLinear in;
  StoredLinear out;
  StoredNorm norm;
};

/// The weights of xIELU (arXiv 2411.13010): positive x^2 + slope x above 0, negative (e^min(x, limit) - 1 - x) + slope
/// x below.
struct Xielu {
  float positive = 0;
  float negative = 0;
  float slope = 0.5F;
  float limit = -1e-6F;
};

/// What is added to the scaled scores by head and distance.
struct ScoreBias {
  std::vector<float> slopes;            ///< ALiBi: the bias is -slope * |distance|, by head.
  const StoredTensor* table = nullptr;  ///< Else the rows of this table, one per bucket of distances; nullptr: none.
  std::size_t max_distance = 128;       ///< Larger distances share a bucket.

  [[nodiscard]] bool empty() const noexcept { return slopes.empty() && table == nullptr; }
};

/// What a layer adds to the scores of two patches of a window by their distance in rows and columns: a row of a table,
/// or what an MLP makes of the distance (Swin v2).
struct StoredWindowBias {
  const StoredTensor* table = nullptr;  ///< [(2 side - 1)^2, heads]; nullptr: none.
  std::optional<StoredLinear> inner;    ///< From two coordinates; a ReLU follows ...
  std::optional<StoredLinear> outer;    ///< ... then one number per head: the bias is 16 times its sigmoid.
  std::size_t trained_side = 0;         ///< Of the windows that the coordinates are measured in.

  [[nodiscard]] bool empty() const noexcept { return table == nullptr && !inner; }
};

/// How squares of 2 x 2 tokens of a stage become the tokens of the next: reduce(norm(x)), or norm(reduce(x)), of the
/// four rows concatenated.
struct PatchMerging {
  StoredNorm norm;
  StoredLinear reduce;
  bool norm_last = false;
};

/// Of a model with stages of different width: which of them the layers are.
struct NetworkStage {
  std::size_t index = 0;
  std::size_t count = 1;
  std::optional<PatchMerging> to_next;  ///< Nothing for the last stage.
};

/// Mamba 2 (arXiv 2405.21060): as Mamba, with one rate of decay, step and skip per head, and B and C per group of
/// heads.
struct GroupedState {
  StoredLinear in;  ///< [gates | x | B | C | steps]
  std::array<float, 5> in_factors = {1, 1, 1, 1, 1};
  const StoredTensor* kernel = nullptr;     ///< Convolution of [x | B | C], [width, 1, taps].
  const StoredTensor* bias = nullptr;       ///< Of the convolution; nullptr if there is none.
  const StoredTensor* decay = nullptr;      ///< Its logarithm, by head.
  const StoredTensor* skip = nullptr;       ///< By head.
  const StoredTensor* step_bias = nullptr;  ///< By head.
  std::optional<StoredNorm> norm;           ///< Of the gated output, in `norm_groups` parts.
  std::size_t norm_groups = 1;
  bool norm_first = false;  ///< The gates are applied after the norm.
  StoredLinear out;
  float out_factor = 1;
  std::size_t heads = 0;
  std::size_t groups = 1;
  std::size_t states = 0;
  float min_step = 0;
};

/// One layer: the tensors it reads, in order of use.
struct NetworkLayer {
  Block block = Block::kOnly;
  bool causal = true;
  bool has_mlp = true;                 ///< The self-attention of a decoder has none: cross-attention comes first.
  std::optional<StoredNorm> norm;      ///< Before attention.
  std::array<StoredLinear, 4> linear;  ///< Indexed by Role; in fused families Q, K and V name the same tensor.
  std::array<HeadSlice, 4> slices;     ///< Location of each role's heads in the output of `linear`.
  std::optional<LatentProjections> latent;
  std::optional<StoredNorm> q_norm;  ///< Over the components of a head, or of all heads (`joint_head_norms`).
  std::optional<StoredNorm> k_norm;
  std::optional<StoredNorm> v_norm;
  /// Added to the output of `linear`, by role; nullptr for those whose `linear` has the bias, or that have none.
  std::array<const StoredTensor*, 3> role_biases = {};
  bool own_keys = true;  ///< If not, keys and values are those of an earlier layer (`HeadSizes::kv_layer`).
  std::optional<StoredLinear> relative_key;  ///< From relative positions to what queries are compared with, all heads.
  std::optional<StoredLinear> relative_query;   ///< The same for keys.
  const StoredTensor* content_bias = nullptr;   ///< Added to queries that are compared with keys ...
  const StoredTensor* position_bias = nullptr;  ///< ... and with relative positions.
  /// By head: the score of one more key, which has no value; nullptr if there is none (gpt-oss).
  const StoredTensor* sinks = nullptr;
  ScoreBias bias;                           ///< Of this layer alone, in place of the stack's (UMT5).
  const StoredTensor* grid_bias = nullptr;  ///< Bias of the scores by distance in the grid of patches.
  PatchWindows patch_windows;               ///< Patches attend within these.
  StoredWindowBias window_bias;
  /// By head: the logarithm of a factor on its scores, at most log 100 (Swin v2); nullptr: 1.
  const StoredTensor* score_factors = nullptr;
  std::optional<StoredNorm> norm_after_attention;
  const StoredTensor* attention_scale = nullptr;
  std::optional<StoredNorm> mlp_norm;
  std::optional<StoredExperts> experts;  ///< If set, the MLP is these, and `up`, `gate` and `down` are unset.
  StoredLinear up;
  std::optional<StoredLinear> gate;
  bool gate_in_up = false;  ///< The first half of the output of `up` is the gate.
  StoredLinear down;
  std::optional<StoredNorm> norm_after_mlp;
  const StoredTensor* mlp_scale = nullptr;
  std::optional<float> gate_cutoff;  ///< Gates below mean + this * deviation are 0, others are less by as much.
  std::optional<Xielu> xielu;
  std::optional<GroupedState> beside;  ///< Reads what attention reads; its output is added to that of attention.
  float attention_factor = 1;          ///< On the output of attention ...
  float gate_factor = 1;               ///< ... on the gates of the MLP ...
  float mlp_factor = 1;                ///< ... and on its output.
  std::optional<LowRankBranch> low_rank;
  std::optional<StreamUpdate> update;
  std::optional<TokenInput> token_input;
  const StoredTensor* block_scale = nullptr;  ///< [1]: a factor on the stream after the block.
  std::size_t window = 0;                     ///< Number of tokens a query sees, itself included; 0: all.
  std::size_t chunk = 0;  ///< A query sees only keys of its own chunk of this many tokens; 0: all (Llama 4).
  bool rotary = true;     ///< Whether queries and keys are rotated, if the model has rotary positions.
  bool local_rotary = false;
  bool gated_output = false;    ///< Each head's output is multiplied by sigmoid(gate), the numbers after its query.
  bool growing_queries = true;  ///< Whether the network's `query_growth` applies.
  float score_scale = 1;

  /// Number of neurons of the MLP; of a mixture, of all experts, the shared one last.
  [[nodiscard]] std::size_t neurons() const { return experts ? experts->neurons() : down.in(); }
  [[nodiscard]] bool is_gated() const { return experts ? experts->is_gated() : gate.has_value() || gate_in_up; }
};

/// A convolution over the last tokens: out(c * (kernel over b * x + bias)), with [b | c | x] = in of the stream (LFM2).
struct ShortConvolution {
  StoredLinear in;
  const StoredTensor* kernel = nullptr;  ///< [width, 1, taps], the last tap for the token itself.
  const StoredTensor* bias = nullptr;    ///< nullptr if there is none.
  StoredLinear out;
};

/// Linear attention by the gated delta rule (arXiv 2412.06464): each value head keeps a memory that keys write to and
/// queries read from (Qwen3-Next).
struct GatedDelta {
  /// Four maps, to [queries | keys | values], the output's gate, the rate of writing, the rate of decay; or two, in
  /// groups of key heads: [query | key | values | gates], [rates of writing | of decay].
  std::vector<StoredLinear> in;
  const StoredTensor* kernel = nullptr;     ///< Convolution of queries, keys and values, [width, 1, taps].
  const StoredTensor* decay = nullptr;      ///< Its logarithm, by value head.
  const StoredTensor* step_bias = nullptr;  ///< Added to the rate of decay.
  StoredNorm norm;                          ///< Of each value head's output, before its gate.
  StoredLinear out;
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;
  std::size_t d_key = 0;
  std::size_t d_value = 0;
};

/// Mamba (arXiv 2312.00752): each channel x has a state s of `decay`'s columns, s <- e^(-e^decay step) s + step x B,
/// and gives (s C + skip x) silu(gate). B, C and the steps depend on the token.
struct SelectiveState {
  StoredLinear in;                       ///< [x | gates]
  const StoredTensor* kernel = nullptr;  ///< Convolution of x, [width, 1, taps].
  const StoredTensor* bias = nullptr;    ///< Of the convolution; nullptr if there is none.
  StoredLinear select;                   ///< From x to [step | B | C].
  std::optional<StoredNorm> step_norm;   ///< Of the three ...
  std::optional<StoredNorm> write_norm;  ///< ... B ...
  std::optional<StoredNorm> read_norm;   ///< ... and C.
  StoredLinear step;                     ///< To a step per channel; softplus follows.
  const StoredTensor* decay = nullptr;   ///< [width, states]
  const StoredTensor* skip = nullptr;    ///< [width]
  StoredLinear out;
};

/// A layer of a hybrid without attention: one of the mixers in its place, or none, then the MLP of `block`, if it has
/// one.
struct MixerLayer {
  std::size_t before = 0;  ///< The layer with attention that it precedes, as these are numbered.
  NetworkLayer block;
  std::optional<ShortConvolution> convolution = {};
  std::optional<GatedDelta> delta = {};
  std::optional<SelectiveState> selective = {};
  std::optional<GroupedState> grouped = {};
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
  bool closed_sinusoids = false;       ///< The last wavelength is 10000 times the first.
  std::optional<std::size_t> padding;  ///< RoBERTa: tokens with this id do not count as positions.
  const StoredTensor* token_types = nullptr;
  /// The tokens' inputs for each layer are (norm(projection(x) / sqrt(d_model)) + table sqrt(width)) / sqrt(2), where x
  /// are the tokens' embeddings (Gemma 4).
  const StoredTensor* token_inputs = nullptr;  ///< [tokens, layers * width]; nullptr if there are none.
  std::optional<StoredLinear> token_projection;
  std::optional<StoredNorm> token_norm;
  /// Weight [d_model, channels, patch, patch], or [d_model, channels, frames, patch, patch], of equal frames; or, for
  /// images of any shape (SigLIP 2), [d_model, patch * patch * channels], pixel by pixel.
  StoredLinear patches;
  std::vector<StoredLinear> convolutions;    ///< Of audio features, weights [d_model, channels, width]; each but the
                                             ///< first has stride 2.
  std::vector<const StoredTensor*> leading;  ///< Tokens before the patches, [.., k, d_model].
  const StoredTensor* registers = nullptr;
  std::size_t patch_side = 0;  ///< In pixels, if the weight is a matrix; 0 otherwise.
  std::size_t merged = 1;      ///< Patches along either side of a token: the stages before this one merge them.
  std::size_t multiple = 1;    ///< The grid of tokens has a multiple of this many rows and columns.
  bool interpolate = false;
  bool between_corners = false;  ///< Positions are interpolated linearly, corners on corners.
  std::optional<StoredNorm> norm;
  bool norm_first = false;       ///< It comes before the positions.
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
  std::optional<StoredNorm> pooled_norm;  ///< Of the mean of the patches.
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
  bool head_norms_last = false;   ///< They come after the rotation.
  ScoreBias bias;
  RelativePositions relative;
  /// Queries are multiplied by 1 + this * ln(1 + floor((position + query_shift) / query_period)).
  double query_growth = 0;
  double query_period = 1;
  double query_shift = 0;
  Rotary rotary;        ///< Width 0: none.
  Rotary local_rotary;  ///< For layers with `local_rotary`.
  NetworkInput input;
  std::vector<NetworkLayer> layers;  ///< In the order of `HeadSizes`.
  std::optional<NetworkStage> stage;
  std::vector<MixerLayer> mixers;  ///< In order; empty unless the model is a hybrid.
  SideStreams side_streams;        ///< Empty unless the family has some (Gemma 3n).
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

}  // namespace headscope
