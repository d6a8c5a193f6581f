#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/buffer.h"
#include "headscope/base/matrix.h"
#include "headscope/model/role.h"

namespace headscope {

/// The matrices of one role in one layer: for every head a `d_model x d_head` matrix whose column space is what the
/// head reads (Q, K, V) or writes (O).
class HeadWeights {
 public:
  HeadWeights() = default;
  /// `values` holds the heads' matrices one after another, each in column-major order; `noise` is empty or has one
  /// value per head.
  HeadWeights(Role role, std::size_t d_model, std::size_t d_head, Buffer<float> values, std::vector<double> noise = {})
      : role_(role), d_model_(d_model), d_head_(d_head), values_(std::move(values)), noise_(std::move(noise)) {
    assert(values_.size() % (d_model * d_head) == 0);
    assert(noise_.empty() || noise_.size() == heads());
  }

  [[nodiscard]] Role role() const noexcept { return role_; }
  [[nodiscard]] std::size_t heads() const noexcept {
    return values_.size() == 0 ? 0 : values_.size() / (d_model_ * d_head_);
  }
  [[nodiscard]] std::size_t d_model() const noexcept { return d_model_; }
  [[nodiscard]] std::size_t d_head() const noexcept { return d_head_; }

  /// View of head `a`'s matrix, `d_model x d_head`.
  [[nodiscard]] MatrixView head(std::size_t a) const noexcept {
    assert(a < heads());
    return {values_.data() + a * d_model_ * d_head_, d_model_, d_head_, 1, d_model_};
  }
  /// One column of a head's matrix: `d_model` contiguous floats.
  [[nodiscard]] std::span<float> column(std::size_t head, std::size_t j) noexcept {
    assert(head < heads() && j < d_head_);
    return values_.values().subspan((head * d_head_ + j) * d_model_, d_model_);
  }
  /// All columns of a head's matrix, contiguous.
  [[nodiscard]] std::span<const float> columns(std::size_t head) const noexcept {
    assert(head < heads());
    return values_.values().subspan(head * d_model_ * d_head_, d_model_ * d_head_);
  }
  [[nodiscard]] std::span<const float> values() const noexcept { return values_.values(); }
  /// Bound on the norm of the rounding errors in a head's matrix from storing it in a type of less than 32 bits; 0 for
  /// wider types. Singular values up to this bound cannot be told from rounding.
  [[nodiscard]] double noise(std::size_t head) const noexcept { return noise_.empty() ? 0 : noise_[head]; }
  /// Moves the buffer out.
  [[nodiscard]] Buffer<float> release() && noexcept { return std::move(values_); }

 private:
  Role role_ = Role::kQ;
  std::size_t d_model_ = 0;
  std::size_t d_head_ = 0;
  Buffer<float> values_;
  std::vector<double> noise_;
};

}  // namespace headscope
