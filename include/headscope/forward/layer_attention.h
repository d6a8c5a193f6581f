#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/role.h"

namespace headscope {

/// Queries, keys and values of a layer for one input, before their norms and positions: tokens x (heads * d_head); K
/// and V have KV heads.
struct ProjectedHeads {
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix gates;  ///< What each head's output is multiplied by, by query head; empty if there are no gates.
};

/// The attention of one layer, in parts, for computing single heads again after a change.
class LayerAttention {
 public:
  /// `model` must outlive this object. `lengths` are the numbers of tokens of all inputs that will be used.
  /// \throws Error  as `resolve_network`; kInvalidArgument if there is no such layer.
  LayerAttention(const Model& model, std::size_t layer, std::span<const std::size_t> lengths);
  LayerAttention(LayerAttention&&) noexcept;
  ~LayerAttention();

  /// Projects the stream before the layer: norm, then Q, K and V, on all threads.
  [[nodiscard]] ProjectedHeads project(MatrixView stream) const;
  /// What the norm before attention multiplies each token by, apart from its gain; 1 if there is none.
  [[nodiscard]] std::vector<float> read_factors(MatrixView stream) const;
  /// The gain of that norm; empty if there is none. `centers` says whether it subtracts the mean.
  [[nodiscard]] const std::vector<float>& read_gain() const noexcept;
  [[nodiscard]] bool centers() const noexcept;

  /// Applies the norm and the rotary positions of a role to the rows of one head, tokens x d_head, in place. Nothing
  /// for V. On the calling thread.
  void place(Role role, MatrixSpan rows) const;
  /// softmax(mask(cap(scale q k^T))) of one query head, tokens x tokens, on the calling thread. With a sink, rows sum
  /// to less than 1.
  void pattern(std::size_t head, MatrixView q, MatrixView k, MatrixSpan out) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headscope
