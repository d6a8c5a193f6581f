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
  /// Loads what the heads of a layer write: O, with the gain of a norm on the branch and, if it is a LayerNorm (Swin
  /// v2), its centering. `recycled` lends its memory.
  /// \throws Error  as `Model::load_heads`.
  [[nodiscard]] HeadWeights load_writes(std::size_t layer, HeadWeights recycled = {}) const;
  /// The change of the source's stream before a step (layer_order.h) after its own: tokens x d_model. One past the last
  /// step of the stream, the change of what it ends with. `writes` are those of the source's layer.
  [[nodiscard]] Matrix of_stream(HeadId source, std::size_t step, std::size_t input, const HeadWeights& writes) const;
  /// The same between attention and MLP of layer `target`, which may be the source's.
  [[nodiscard]] Matrix before_mlp(HeadId source, std::size_t target, std::size_t input,
                                  const HeadWeights& writes) const;

  // The same path backwards, for many heads at a time: with reads R (d_model x columns) before a step, the change of
  // what they read is of_output * O^T * R' * factor, where R' is R carried back to the source's layer.

  /// Carries reads from the stream after a layer back to the output of its attention. Call it for the layers of every
  /// step before the reads, down to the source's, on the same matrix. Only post-norm models change it: in others no
  /// norm of the stream comes between.
  void carry_back(std::size_t layer, Matrix& reads) const;
  [[nodiscard]] bool is_post_norm() const noexcept { return post_norm_; }
  /// What the output of a layer's attention is multiplied by.
  [[nodiscard]] float branch_factor(std::size_t layer) const noexcept { return norms_[layer].branch_factor; }
  /// Product of the factors of all norms and blocks between a source layer and a step, and of the source's branch, per
  /// token.
  [[nodiscard]] std::vector<float> path_factors(std::size_t source, std::size_t step, std::size_t input) const;

 private:
  // What follows the branches of a layer: the gains of norms, and whether they center.
  struct LayerNorms {
    std::vector<float> after_attention = {};  // post-norm only
    std::vector<float> after_mlp = {};
    bool centers_attention = false;
    bool centers_mlp = false;
    float branch_factor = 1;              // on the output of attention
    float stream_factor = 1;              // on the stream after attention, in models with several streams
    float block_scale = 1;                // on the stream after the layer
    std::vector<float> branch_gain = {};  // of a LayerNorm on the branch ...
    std::vector<float> write_means = {};  // ... and, by component of the heads' outputs, the means that it subtracts
  };
  // What the stream before a later layer gets of a change of that after the source's attention, per token; empty if
  // there is one stream.
  [[nodiscard]] std::vector<float> mixing_factors(std::size_t source, std::size_t target, std::size_t input) const;
  void pass_attention_norm(Matrix& change, std::size_t source, std::size_t layer, std::size_t input) const;
  void pass_norm(Matrix& change, std::span<const float> factors, std::span<const float> gain, bool centers) const;

  const RecordedPass& record_;
  const HeadSizes& sizes_;
  Replacement replacement_;
  const RecordedPass* paired_;
  bool post_norm_ = false;
  std::vector<LayerNorms> norms_;  // by layer
};

}  // namespace headscope
