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

/// y = x W^T + b as it lies in a file.
struct StoredLinear {
  const StoredTensor* weight = nullptr;
  const StoredTensor* bias = nullptr;  ///< nullptr for none.
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

/// One block: what it reads, in the order in which it is used.
struct NetworkLayer {
  std::optional<StoredNorm> norm;      ///< Before attention.
  std::array<StoredLinear, 4> linear;  ///< By Role; fused families name one tensor three times.
  std::array<HeadSlice, 4> slices;     ///< Where a role's heads lie in what `linear` gives.
  std::optional<StoredNorm> q_norm;    ///< Over a head's components.
  std::optional<StoredNorm> k_norm;
  std::optional<StoredNorm> norm_after_attention;
  const StoredTensor* attention_scale = nullptr;
  std::optional<StoredNorm> mlp_norm;
  StoredLinear up;
  std::optional<StoredLinear> gate;
  bool gate_in_up = false;  ///< The first half of what `up` gives is the gate.
  StoredLinear down;
  std::optional<StoredNorm> norm_after_mlp;
  const StoredTensor* mlp_scale = nullptr;
  std::size_t window = 0;  ///< Tokens a query sees, itself included; 0: all.
  bool local_rotary = false;
  float score_scale = 1;
};

/// How tokens, or patches, enter the residual stream.
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
  std::size_t image_height = 0;  ///< What the table of positions is made for; 0 where the files do not say.
  std::size_t image_width = 0;
};

/// How the stream becomes the output.
struct NetworkOutput {
  std::optional<StoredNorm> norm;
  std::optional<StoredLinear> project;
  std::optional<StoredLinear> transform;  ///< BERT: linear, activation, norm before the unembedding.
  Activation transform_activation = Activation::kGelu;
  std::optional<StoredNorm> transform_norm;
  std::optional<StoredLinear> unembedding;
  std::vector<StoredLinear> classifiers;  ///< Of images: one, or two whose mean it is.
  Pooling pooling = Pooling::kFirst;
  float logit_cap = 0;  ///< 0 for none.
};

/// Everything a forward pass needs to know of a model: which tensors it reads and the numbers its configuration
/// gives. Refers into the Model it came from.
struct Network {
  NormOrder order = NormOrder::kPre;
  bool parallel = false;  ///< Attention and MLP read the same stream.
  bool causal = true;
  Activation activation = Activation::kGelu;
  float score_cap = 0;  ///< 0 for none.
  Rotary rotary;        ///< width 0: none.
  Rotary local_rotary;  ///< Of layers with `local_rotary`.
  NetworkInput input;
  std::vector<NetworkLayer> layers;
  NetworkOutput output;
};

class Model;

/// \throws Error  kUnsupported if the family, or this member of it, has no forward pass here; kFormat if a tensor
///                is missing, has a wrong shape, or the configuration contradicts itself.
[[nodiscard]] Network resolve_network(const Model& model);

}  // namespace headscope
