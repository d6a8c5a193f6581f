#pragma once

#include <optional>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// y = x W^T + b for all rows of x, W read from the file. `scratch` is where W is decoded to if it must be.
void apply_linear(const Checkpoint& checkpoint, const StoredLinear& linear, MatrixView x, MatrixSpan y,
                  Buffer<float>& scratch);

/// A norm whose vectors are in memory.
class Norm {
 public:
  Norm(const Checkpoint& checkpoint, const StoredNorm& stored);

  /// Every row of x, on all threads. In place is fine.
  void apply(MatrixView x, MatrixSpan out) const;
  void apply_row(std::span<const float> x, std::span<float> out) const;

 private:
  NormKind kind_;
  std::vector<float> gain_;
  std::vector<float> bias_;
  float epsilon_;
};

/// The norm, if there is one.
[[nodiscard]] std::optional<Norm> load_norm(const Checkpoint& checkpoint, const std::optional<StoredNorm>& stored);

}  // namespace headscope
