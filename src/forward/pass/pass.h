#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "forward/pass/batch.h"
#include "forward/pass/progress.h"
#include "forward/work_matrix.h"
#include "headscope/base/buffer.h"
#include "headscope/forward/forward.h"
#include "headscope/model/model.h"
#include "headscope/model/network.h"

namespace headscope {

/// What all parts of a forward pass share: the model, what is asked of it, the plan, and how much of it is done.
struct Pass {
  /// Checks the request and plans the batches. All arguments must outlive the pass.
  Pass(const Model& model, std::span<const ModelInput> inputs, const ForwardOptions& options, const Context& context);

  const Model& model;
  const Checkpoint& checkpoint;
  const HeadSizes& sizes;
  const ForwardOptions& options;
  Network network;
  std::size_t begin_step;                        ///< First step to run (layer_order.h).
  std::size_t end_layer;                         ///< One past the last layer to run.
  std::vector<std::vector<float>> replacements;  ///< By layer * heads + head; empty if not replaced.
  bool releases_pages;                           ///< Whether weights are released after use.
  BatchPlan plan;
  Progress progress;
  Buffer<float> scratch;  ///< One decoded matrix of weights.
  WorkMatrix up;          ///< What an MLP computes of some rows.
  WorkMatrix gate;

  /// Whether the encoder is not run.
  [[nodiscard]] bool begins_in_decoder() const noexcept;
  /// By head of a layer: its replacement, or empty.
  [[nodiscard]] std::span<const std::vector<float>> replacements_of(std::size_t layer) const;
  /// Releases the pages of weights after use, if they are released.
  void release(const std::vector<const StoredTensor*>& tensors) const;
  /// \throws Error  kNumeric if values of the stream are NaN or infinite, naming the tensor that is, or else what was
  ///                computed last.
  void require_finite(MatrixView stream, const std::vector<const StoredTensor*>& tensors,
                      const std::string& after) const;
};

}  // namespace headscope
