#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/input_shape.h"
#include "headscope/model/model.h"
#include "headscope/model/role.h"

namespace headscope {

/// Queries, keys and values of a layer for one input, before their norms and positions: tokens x (heads * width); K and
/// V have KV heads, and are empty if the layer uses those of an earlier one. A norm over all heads together has divided
/// them already. In latent attention keys are as wide as queries: the rotary key that the heads share follows each
/// head's own.
struct ProjectedHeads {
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix gates;  ///< What each head's output is multiplied by, by query head; empty if there are no gates.
  /// By role, Q, K and V: what a change of what the branch reads is multiplied by per token if the scales of norms of
  /// latents and over all heads together are held fixed; empty: 1.
  std::array<std::vector<float>, 3> factors;

  [[nodiscard]] const Matrix& of(Role role) const noexcept { return role == Role::kQ ? q : role == Role::kK ? k : v; }
};

/// How a role of latent attention reads the stream, apart from what the norm of its latent multiplies tokens by.
struct LatentRead {
  Matrix down;   ///< To the latent: d_model x rank.
  Matrix heads;  ///< From the latent, times the gain of its norm, to all heads: rank x (heads * width).
};

/// The attention of one layer, in parts, for computing single heads again after a change.
class LayerAttention {
 public:
  /// `model` must outlive this object. `shapes` are those of all inputs in the layer's stack, in order.
  /// \throws Error  as `resolve_network`; kInvalidArgument if there is no such layer.
  LayerAttention(const Model& model, std::size_t layer, std::span<const InputShape> shapes);
  LayerAttention(LayerAttention&&) noexcept;
  ~LayerAttention();

  // What a role reads, and the norm before it: the stream before the layer and its norm, or for K and V of
  // cross-attention the output of the encoder and the last norm of that.

  /// Projects what the roles read: norm, then Q, K and V, on all threads. `keys` is what K and V read, which is
  /// `stream` except in cross-attention.
  [[nodiscard]] ProjectedHeads project(MatrixView stream, MatrixView keys) const;
  /// What the norm of a role multiplies each token by, apart from its gain; 1 if there is none.
  [[nodiscard]] std::vector<float> read_factors(Role role, MatrixView rows) const;
  /// The gain of that norm; empty if there is none. `centers` says whether it subtracts the mean.
  [[nodiscard]] const std::vector<float>& read_gain(Role role) const noexcept;
  [[nodiscard]] bool centers(Role role) const noexcept;
  /// The two maps of a role that reads a latent; nothing if it reads the stream.
  [[nodiscard]] std::optional<LatentRead> latent(Role role) const;

  /// Applies norms, clipping and rotary positions to the rows of one head on an input, tokens x width, in place. The
  /// head is a query head for Q, a KV head for K and V. Rows of K that lack the shared rotary key are not rotated. On
  /// the calling thread.
  void place(Role role, std::size_t head, std::size_t input, MatrixSpan rows) const;
  /// Whether `place` does anything to values.
  [[nodiscard]] bool places_values() const noexcept;
  /// The pattern of one query head on an input, queries x keys, as the forward pass computes it: scores with what
  /// positions add to them, mask, softmax. With a sink, rows sum to less than 1. On the calling thread.
  void pattern(std::size_t head, std::size_t input, MatrixView q, MatrixView k, MatrixSpan out) const;

  /// Bytes of what positions add to the scores, for inputs of these shapes, on all threads.
  [[nodiscard]] static std::size_t positions_memory(const Model& model, std::span<const InputShape> shapes);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headscope
