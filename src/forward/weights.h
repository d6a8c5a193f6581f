#pragma once

#include <optional>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// y = x W^T + b for all rows of x, with W read from the file. W is decoded into `scratch` if necessary.
void apply_linear(const Checkpoint& checkpoint, const StoredLinear& linear, MatrixView x, MatrixSpan y,
                  Buffer<float>& scratch);

/// The same in a matrix of its own.
[[nodiscard]] Matrix mapped(const Checkpoint& checkpoint, const StoredLinear& linear, MatrixView x,
                            Buffer<float>& scratch);

/// W as the right factor of a product, in x out, so that y = x W. Decoded into `scratch` if necessary.
[[nodiscard]] MatrixView linear_weights(const Checkpoint& checkpoint, const StoredLinear& linear,
                                        Buffer<float>& scratch);

/// A norm whose gain and bias are in memory.
class Norm {
 public:
  Norm(const Checkpoint& checkpoint, const StoredNorm& stored);

  /// Applies the norm to every row of x, on all threads. `out` may be `x`.
  void apply(MatrixView x, MatrixSpan out) const;
  void apply_row(std::span<const float> x, std::span<float> out) const;
  /// The same for the components of one head, in place. Each head may have a gain of its own.
  void apply_head(std::size_t head, std::span<float> x) const;
  /// Multiplies the components of one head by their gain, of a norm over all heads.
  void apply_gain(std::size_t head, std::span<float> x) const;
  /// The gain of one component.
  [[nodiscard]] float gain(std::size_t i) const noexcept { return gain_.empty() ? 1 : gain_[i]; }
  /// What a row is multiplied by after it is centered, besides the gain.
  [[nodiscard]] float factor(std::span<const float> x) const;

 private:
  void apply_with(std::span<const float> gain, std::span<const float> x, std::span<float> out) const;

  NormKind kind_;
  std::vector<float> gain_;  // empty: 1
  std::vector<float> bias_;
  float epsilon_;
};

/// Loads the norm, if there is one.
[[nodiscard]] std::optional<Norm> load_norm(const Checkpoint& checkpoint, const std::optional<StoredNorm>& stored);

}  // namespace headscope
