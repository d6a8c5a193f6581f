#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/forward/layer_attention.h"
#include "headscope/model/layer_order.h"
#include "headscope/model/model.h"

namespace headscope {

/// One role of one target head, and where its columns are.
struct TargetRole {
  std::size_t screen;  ///< Index of its role among those that are screened.
  Role role;
  std::size_t head;
  std::size_t column;  ///< First column of its matrix among those of all targets.
  std::size_t width;
};

/// Roles of a layer that read the same rows, and what writes these: all roles, except in cross-attention, where Q reads
/// one stream, K and V the other.
struct LayerReading {
  std::size_t layer;
  StepRange sources;
  std::vector<Role> roles = {};
  std::vector<TargetRole> targets = {};  ///< One role after another.
};

/// The readings of a layer that have sources.
[[nodiscard]] std::vector<LayerReading> readings_of(std::span<const Role> roles, const HeadSizes& sizes,
                                                    std::size_t layer);

/// What all targets of a reading read, with the gain and the centering of the norm before it: the product of two
/// matrices in roles that read a latent, whose product would cost more than both.
class TargetReads {
 public:
  TargetReads(const Model& model, std::size_t layer, std::span<const Role> roles, const LayerAttention& attention);

  /// Total width of all targets.
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  /// Moves out what is read of the stream: d_model x (widths of targets, or of latents).
  [[nodiscard]] Matrix take_of_stream() noexcept { return std::move(of_stream_); }
  /// blocks = writes * R for R d_model x columns. `writes` are rows of d_model numbers, `carried` is what is read of
  /// the stream, carried back to where they are written. On all threads.
  void multiply(MatrixView writes, MatrixView carried, MatrixSpan blocks) const;

 private:
  // The columns of a role, in what is read of the stream and in the result.
  struct Part {
    std::size_t first;
    std::size_t count;
    std::size_t column;
    std::size_t columns;
    Role role;
    Matrix from_latent;  // empty if both are the same
  };

  std::size_t columns_ = 0;
  Matrix of_stream_;
  std::vector<Part> parts_;
};

}  // namespace headscope
