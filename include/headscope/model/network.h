#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "headscope/io/stored_tensor.h"
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
  const StoredTensor* gain = nullptr;
  const StoredTensor* bias = nullptr;
  float offset = 0;  ///< Added to the stored gain.
  double epsilon = 0;
};

/// One block: the tensors it reads, in order of use.
struct NetworkLayer {
  std::optional<StoredNorm> norm;      ///< Before attention.
  std::array<StoredLinear, 4> linear;  ///< Indexed by Role; in fused families Q, K and V name the same tensor.
  std::array<HeadSlice, 4> slices;     ///< Location of each role's heads in the output of `linear`.
  std::optional<StoredNorm> q_norm;    ///< Over the components of a head.
  std::optional<StoredNorm> k_norm;
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
  bool local_rotary = false;
  float score_scale = 1;
};

/// How tokens or patches enter the residual stream.
struct NetworkInput {
  const StoredTensor* embedding = nullptr;
  float embedding_scale = 1;
  std::optional<StoredLinear> project;
  const StoredTensor* positions = nullptr;
  std::size_t position_offset = 0;
  std::optional<std::size_t> padding;  ///< RoBERTa: tokens with this id do not count as positions.
  const StoredTensor* token_types = nullptr;
  StoredLinear patches;                      ///< Weight [d_model, channels, patch, patch].
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
  float logit_cap = 0;  ///< 0: none.
};

/// Everything a forward pass needs to know about a model: which tensors it reads, and the settings from its
/// configuration. Points into the Model it was resolved from, which must outlive it.
struct Network {
  NormOrder order = NormOrder::kPre;
  bool parallel = false;  ///< Attention and MLP read the same stream.
  bool causal = true;
  Activation activation = Activation::kGelu;
  float score_cap = 0;  ///< 0: none.
  Rotary rotary;        ///< Width 0: none.
  Rotary local_rotary;  ///< For layers with `local_rotary`.
  NetworkInput input;
  std::vector<NetworkLayer> layers;
  NetworkOutput output;
};

class Model;

/// Finds the tensors and settings of the model's forward pass.
/// \throws Error  kUnsupported if the family, or this member of it, has no forward pass here; kFormat if a tensor is
///                missing or has a wrong shape, or if the configuration contradicts itself.
[[nodiscard]] Network resolve_network(const Model& model);

}  // namespace headscope
