#pragma once

#include <cstddef>
#include <vector>

#include "headscope/base/matrix.h"
#include "headscope/model/head_weights.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope {

/// What stands in for the output of a head whose edge is cut (METHODS 12).
enum class Replacement {
  kMean,  ///< Its mean over all tokens of all inputs.
  kZero,
  kPair,  ///< Its output on a paired input of the same length.
};

/// Subtracts the mean of every column.
void center_columns(Matrix& matrix);

/// How the output of a source head changes when it is replaced, and what the change becomes in the stream before a
/// later layer: -o_s + m_s in METHODS 12.
///
/// Only the direct path counts: what layers between do with the change is left out. Norms that follow a branch, and
/// those of post-norm models between source and target, are applied with the factors of the recorded pass.
class HeadChange {
 public:
  /// `paired` is the record of the paired inputs, for `Replacement::kPair` only. Both must outlive this object.
  /// \throws Error  kInvalidArgument if `paired` is missing, or its inputs have other lengths.
  HeadChange(const RecordedPass& record, Replacement replacement, const RecordedPass* paired = nullptr);

  /// The change of a head's output before O: tokens x d_head.
  [[nodiscard]] Matrix of_output(HeadId source, std::size_t input) const;
  /// The change of the stream before layer `target`, which is later than the source: tokens x d_model. `writes` are
  /// the O matrices of the source's layer, unprocessed.
  [[nodiscard]] Matrix of_stream(HeadId source, std::size_t target, std::size_t input, const HeadWeights& writes) const;
  /// The same between attention and MLP of layer `target`, which may be the source's.
  [[nodiscard]] Matrix before_mlp(HeadId source, std::size_t target, std::size_t input,
                                  const HeadWeights& writes) const;

  // The same path backwards, for many heads at a time: with reads R (d_model x columns) of layer `target`, the change
  // of what they read is of_output * O^T * R' * factor, where R' is R carried back to the source's layer.

  /// Carries reads from the stream after a layer back to the output of its attention. Post-norm models: call it for
  /// every layer from target - 1 down to the source's, on the same matrix. Others: once, for the source's layer, on a
  /// copy.
  void carry_back(std::size_t layer, Matrix& reads) const;
  [[nodiscard]] bool is_post_norm() const noexcept { return post_norm_; }
  /// Product of the factors of all norms between a source layer and a target layer, per token.
  [[nodiscard]] std::vector<float> path_factors(std::size_t source, std::size_t target, std::size_t input) const;

 private:
  // The gains of the norms after attention and after the MLP of a layer, and whether they center.
  struct LayerNorms {
    std::vector<float> after_attention;
    std::vector<float> after_mlp;
    bool centers_attention = false;
    bool centers_mlp = false;
  };
  void pass_attention_norm(Matrix& change, HeadId source, std::size_t layer, std::size_t input) const;
  void pass_norm(Matrix& change, std::span<const float> factors, std::span<const float> gain, bool centers) const;

  const RecordedPass& record_;
  Replacement replacement_;
  const RecordedPass* paired_;
  bool post_norm_ = false;
  std::vector<LayerNorms> norms_;  // by layer
};

}  // namespace headscope
